// A rule is one file of analysis/rule/ that registers itself: one question about a run, answered from its
// database alone. It says what it found and what that would save; whether that is worth printing is decided
// for all rules in one place (advise.h).
#pragma once

#include <cstddef>
#include <optional>

#include "finding.h"
#include "situation.h"

namespace gpushim::analysis {

// The order in which to do what gains alike: what the GPU waits for, what it is given to do, what its kernels
// do; only then several GPUs.
enum class Scope { kInput, kOneGpu, kKernels, kManyGpus, kOurselves };

// Of which programs it asks. Advice on a training loop's batches and gradients is none to a server.
enum class Programs { any, training, serving };

struct Rule {
    const char* id;  // a promise
    Scope scope;
    std::optional<Finding> (*look)(const Situation&);
    Heading heading;
    Programs programs = Programs::any;  // training: also those of which nothing tells what they are
};

struct RuleRegistration {
    explicit RuleRegistration(const Rule& rule);
};

// A rule's row in analysis/rule/README.md, in Markdown: what `gpushim help` says of a finding. Made by make.
struct RuleWords {
    const char *id, *when, *gain, *try_it;
};
extern const RuleWords kRuleWords[];
extern const size_t kRulesInWords;

}  // namespace gpushim::analysis
