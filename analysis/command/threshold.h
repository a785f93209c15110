// --threshold 3%: the smallest change that counts, as a share. Throws Failure.
#pragma once

#include "../compare/comparison.h"
#include "command.h"

namespace gpushim::analysis {

double threshold_from(const Arguments& arguments);  // not given: kDefaultThreshold

}  // namespace gpushim::analysis
