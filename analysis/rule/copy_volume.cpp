// What is copied to the device holds up the kernels: fewer bytes on the way are a shorter wait. Copies from
// pageable memory are another rule's; here they count as if they were pinned.
#include "../advice/rule.h"
#include "../advice/work.h"
#include "../text/units.h"
#include "repeated.h"

namespace gpushim::analysis::rule_copy_volume {

namespace {

constexpr const char* kBatches =
    "c.kind = 'h2d' AND c.source <> 'pageable' AND c.blocking = 0"
    " AND c.max_bytes >= 65536";

// Where no step was timed: below that these may be the copies of a start.
constexpr double kFills = 0.5;

// Nothing tells whether they are a batch: weights may come so, too.
constexpr Heading kOfRun = {"copy-bound", "Large copies to the device",
                            "the GPU waits for copies from the host",
                            "smaller types, copies ahead of their use, or data that stays on the GPU"};

std::optional<Finding> look(const Situation& run) {
    const Work copies = run.has_steps() ? copies_where(run, kBatches) : copies_of_run_where(run, kBatches);
    if (copies.ns <= 0) return {};
    if (!run.has_steps() && copies.ns < kFills * run.step_ns()) return {};
    Finding found;
    found.title = bytes_text(copies.bytes) + " to the device in a " + run.per() + ", " +
                  duration_text(copies.ns) + " in which nothing else runs on the GPU";
    found.try_it = run.advice({"copy_volume"});
    found.gain = copies.shorter_by(factor("narrower_copy"), run);
    found.confidence = 0.7;
    found.evidence = copies.evidence;
    if (!run.has_steps() || reads_back_as_much(run)) found.heading = &kOfRun;
    return found;
}

constexpr Heading kHeading = {"copy-bound", "Large copies of the batch",
                              "the GPU waits for copies of the batch",
                              "smaller types, or copies ahead of the step"};
const RuleRegistration kRegistration({"copy_volume", Scope::kInput, look, kHeading, Programs::training});

}  // namespace

}  // namespace gpushim::analysis::rule_copy_volume
