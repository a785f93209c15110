// A loss scale that is corrected as it goes asks in each step whether gradients were finite, and the host
// waits for the answer. A static one, or bfloat16, asks nothing.
#include "../text/units.h"
#include "waits.h"

namespace gpushim::analysis::rule_dynamic_loss_scale {

namespace {

std::optional<Finding> look(const Situation& run) {
    if (!scales_loss_dynamically(run)) return {};
    auto waits = waits_of_every_step(run);
    if (!waits || !waits->read) return {};
    Finding found;
    found.gain = waits->gain;
    found.title = "the loss is scaled dynamically, by its kernels' names: a copy of " +
                  bytes_text(waits->read_bytes) + " to the host and a wait for it " + run.each() + ", " +
                  duration_text(found.gain.high_ns) + " idle in gaps that waits caused";
    found.try_it = run.advice({"dynamic_loss_scale"});
    found.confidence = 0.7;
    found.evidence = std::move(waits->evidence);
    return found;
}

constexpr Heading kHeading = {"sync-bound", "A dynamic loss scale that stalls",
                              "the queue runs empty because the host asks whether gradients were finite",
                              "a static loss scale, or bfloat16"};
const RuleRegistration kRegistration({"dynamic_loss_scale", Scope::kOneGpu, look, kHeading,
                                      Programs::training});

}  // namespace

}  // namespace gpushim::analysis::rule_dynamic_loss_scale
