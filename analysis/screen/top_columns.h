// The columns of the tables of `gpushim top`: what each says of a GPU of a rank, and what rows are ordered
// by. Pure; any thread.
#pragma once

#include <span>
#include <string>

#include "../live/figures.h"
#include "../terminal/style.h"
#include "top_state.h"

namespace gpushim::analysis {

// A GPU of a rank; a rank whose GPUs are not known yet has one row.
struct TopRow {
    const RankNow* rank;
    const GpuNow* gpu;  // null: none is known
    size_t number;      // of the GPU in its rank
};

struct TopColumn {
    const char* heading;
    size_t width;         // with the space before it
    bool is_text;         // begins at the left; numbers end at the right
    size_t from_columns;  // shown on screens at least so wide
    std::string (*text)(const TopRow& row);
};

std::span<const TopColumn> columns_of(TopView view);

// Before all of the same column come those of which it is not known.
double order_of(TopOrder order, const TopRow& row);

std::string label_of(const TopRow& row);      // "3", or "3.1" of the second of several GPUs
std::string state_text(const RankNow& rank);  // "running", "silent 12 s", "quiet 7 s in cuCtxSynchronize"
std::string short_mark(const TopRow& row);    // at most five letters
Style style_of(const RankNow& rank);

std::string share_text(const std::optional<double>& share);    // "98.4"; "-"
std::string change_text(const std::optional<double>& change);  // "+3 %"; "-"
std::string age_text(int64_t ns);                              // "4 s", "3 min", "2 h"
std::string short_duration(const std::optional<int64_t>& ns);  // "4.29ms"

}  // namespace gpushim::analysis
