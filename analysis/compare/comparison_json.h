// A comparison for programs. Durations in integer ns, shares from 0 to 1; null says why.
#pragma once

#include "../text/json.h"
#include "comparison.h"

namespace gpushim::analysis {

Json json_of(const Side& base, const Side& now, const Comparison& is);

}  // namespace gpushim::analysis
