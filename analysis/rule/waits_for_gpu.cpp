// The GPU with most to do waits for an event of another one of its process, which works at the same time for
// the rest: a student for its teacher, a decoder for its encoder, a stage of a pipeline for the one before.
//
//   GPU 0   ██ student ██·········██ student ██
//   GPU 1   ███████ teacher ██████·············
#include <algorithm>

#include "../text/units.h"
#include "timed_gpus.h"

namespace gpushim::analysis::rule_waits_for_gpu {

namespace {

constexpr Causes kOfOther = {"wait_other_gpu"};  // where its host waits, that is sync_every_step's

std::optional<Finding> look(const Situation& run) {
    const auto index = sequential_index(run);
    if (index && *index >= kSequential) return {};  // by turns: sequential_gpus
    Finding found;
    found.gain = run.what_if().without(kOfOther);
    if (found.gain.high_ns <= 0) return {};
    found.gain.low_ns = 0;  // what it waits for may need what it does itself
    found.title = "the GPU with most to do waits " + duration_text(found.gain.high_ns) + " of a " +
                  run.per() + " for another GPU of its process";
    found.try_it = run.advice({"waits_for_gpu"});
    found.confidence = 0.6;
    found.evidence = run.gaps_of(kOfOther);
    return found;
}

constexpr Heading kHeading = {"waiting for another GPU", "Waiting for another GPU of the process",
                              "the GPU with most to do waits for another one",
                              "launching ahead what it waits for"};
const RuleRegistration kRegistration({"waits_for_gpu", Scope::kManyGpus, look, kHeading});

}  // namespace

}  // namespace gpushim::analysis::rule_waits_for_gpu
