// What is said of a night, given those before it:
//
//   ok             no slower than the last good night by the threshold, and the nights do not creep
//   regressed      slower than it, beyond what nights vary by; or slower and slower for many nights
//   inconclusive   nothing to compare it with, a rank is missing, or its steps vary too much
//
// Pure; one thread.
#pragma once

#include <functional>
#include <span>

#include "../compare/comparison.h"
#include "night.h"

namespace gpushim::analysis {

struct JudgeOptions {
    double threshold = kDefaultThreshold;
    size_t nights = 14;  // that the noise between nights is known from
};

// `before`: nights of its series, by start. `load` gives one of them to compare with. Fills in what is said
// of `night`.
using LoadSide = std::function<Side(int64_t id)>;
void judge(Night& night, const Side& side, std::span<const Night> before, const LoadSide& load,
           const JudgeOptions& options);

// The last night that this one may be compared with: of the same place, good or accepted. Null: there is
// none.
const Night* base_for(const Night& night, std::span<const Night> before);

// A night's typical step in ns, at as many samples as `like` has.
std::optional<double> level_of(const Night& night, const Night& like);

}  // namespace gpushim::analysis
