// A comparison as people and programs read it: what differs about where the runs ran, the verdict, the rate,
// why, and only then how busy GPUs were.
#pragma once

#include <string>

#include "../report/section.h"
#include "comparison.h"

namespace gpushim::analysis {

// "step 21.3 ms, was 20.4 ms: +4.1 % (99 %: +3.8 to +4.5 %), because of compute: +0.8 ms"; inconclusive: why.
std::string verdict_words(const Comparison& is);

void write_comparison(const Side& base, const Side& now, const Comparison& is, Report& report);

}  // namespace gpushim::analysis
