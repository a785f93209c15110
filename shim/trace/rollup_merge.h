// Makes rollups coarser, the oldest first: seconds become spans of ten, those of a minute, and so on. Sums
// are added and histograms, too, so totals stay what they were; so do the steps'. Samples are thinned alike.
// What comes late, for a span that is coarse already, is added to what stands at its second. Work is done in
// parts of so many rows as one is told. The writer's thread, within a transaction of its caller's; throws
// DatabaseError.
//
//   seconds   |------ 600 ------|--- 60 ---|-- 10 --|- 1 -| now       about as many spans of each
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "../sqlite/database.h"
#include "samples.h"

namespace gpushim::shim {

struct Merged {
    int64_t taken;  // rows that were put to others …
    int64_t freed;  // … and how many fewer there are now
};

class RollupMerge {
  public:
    RollupMerge(Database& base, Samples& samples);

    // A part of the next span of a coarser kind. Nothing: all is of the coarsest kind, or of the last minute.
    // `at_any_cost`: the last minute, too, and spans that are not over yet; then only the newest second is
    // left as it is.
    std::optional<Merged> merge_some(int64_t most_rows, bool at_any_cost = false);
    // Steps of the last minute, too, where they are very many: so many of the oldest into one. Nothing: there
    // are not twice as many.
    std::optional<Merged> merge_oldest_steps(int64_t rows);

  private:
    struct Level {
        int64_t seconds;
        int64_t before;  // from before that second nothing is finer
    };
    struct Span {
        int64_t from, until, seconds;
        bool operator==(const Span&) const = default;
    };
    void load_levels(int64_t fine_seconds);
    Span next_of(size_t coarser) const;
    std::optional<Span> most_crowded() const;
    std::optional<Span> begun_span();
    bool merge_rollups(const Span& span, int64_t most_rows, Merged& merged);
    bool merge_steps(const Span& span, int64_t most_rows, Merged& merged);
    Merged merge_steps(int64_t from_ns, int64_t until_ns);
    int64_t run(Statement& statement, int64_t from, int64_t until);
    int64_t count_at(int64_t second);

    Samples& samples_;
    std::vector<Level> levels_;  // finest first
    Span under_way_ = {};        // of its steps all before this are done
    int64_t steps_from_ns_ = 0;
    Statement extent_, level_, level_row_, changes_;
    Statement any_, there_, sums_, rest_, width_;
    Statement nth_step_, single_steps_, step_ends_, step_table_, step_sums_, step_rest_, step_rows_,
        no_steps_;
};

}  // namespace gpushim::shim
