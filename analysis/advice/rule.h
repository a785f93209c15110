// A rule is one file of analysis/rule/ that registers itself: one question about a run, answered from its
// database alone. It says what it found and what that would save; whether that is worth printing is decided
// for all rules in one place (advise.h).
#pragma once

#include <optional>

#include "finding.h"
#include "situation.h"

namespace gpushim::analysis {

enum class Scope { kOneGpu, kManyGpus, kOurselves };  // printed in this order

struct Rule {
    const char* id;  // a promise
    Scope scope;
    std::optional<Finding> (*look)(const Situation&);
};

struct RuleRegistration {
    explicit RuleRegistration(const Rule& rule);
};

}  // namespace gpushim::analysis
