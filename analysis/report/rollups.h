// What a trace sums up (`rollup`), for figures whose rows may be gone.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string_view>

#include "../trace/inputs.h"
#include "distribution.h"

namespace gpushim::analysis {

// Whether rows of its events are gone: then only sums and histograms tell of all of them.
bool is_summarised(const Trace& trace);

// Adds what the rollups of these series say.
void add_rollups(const Trace& trace, const std::map<int64_t, Distribution*>& by_series);

// Each bucket of a histogram (shim/schema/README.md): a length in its middle, and how many calls were so
// long. Damaged bytes say what comes before the damage.
void for_each_bucket(std::string_view histogram, const std::function<void(int64_t ns, int64_t calls)>& take);

}  // namespace gpushim::analysis
