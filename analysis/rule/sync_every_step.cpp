// The host reads something small in every step and waits for it: the queue runs empty and has to be filled
// again. What a wait itself leaves idle, and the gaps that it made. Of a loss scale that is dynamic another
// rule tells.
#include "../text/units.h"
#include "waits.h"

namespace gpushim::analysis::rule_sync_every_step {

namespace {

constexpr double kOneNumber = 8;  // bytes: a loss

// A program of no framework that reads nothing: it waits after what it launches.
constexpr Heading kLaunches = {"sync-bound", "Waiting for the GPU in every step",
                               "the queue runs empty because the host waits for the GPU",
                               "launching on without waiting"};

// The same of runs without steps.
constexpr Heading kAgainLaunches = {"sync-bound", "Waiting for the GPU again and again", kLaunches.lead,
                                    kLaunches.change};
constexpr Heading kAgainReads = {"sync-bound", "Waiting for the GPU again and again", kLaunches.lead,
                                 "reading results less often"};

std::optional<Finding> look(const Situation& run) {
    auto waits = waits_of_every_step(run);
    if (!waits || (waits->read && scales_loss_dynamically(run))) return {};
    Finding found;
    found.gain = waits->gain;
    found.title =
        (waits->read ? "a copy of " + bytes_text(waits->read_bytes) + " to the host and a wait for it "
                     : "the host waits for the GPU ") +
        run.each() + ": " + duration_text(found.gain.high_ns) + " idle in gaps that waits caused";
    const bool is_number = waits->read && waits->read_bytes <= kOneNumber;
    const bool has_metrics = waits->read || run.ecosystem().python || run.ecosystem().has_framework();
    if (run.is_per_step()) {
        found.try_it = run.advice({is_number     ? "sync_every_step.number"
                                   : has_metrics ? "sync_every_step"
                                                 : "sync_every_step.launches"});
        if (!has_metrics) found.heading = &kLaunches;
    } else {
        found.try_it = run.advice({has_metrics ? "sync_every_step.again" : "sync_every_step.launches"});
        found.heading = has_metrics ? &kAgainReads : &kAgainLaunches;
    }
    found.confidence = waits->read ? 0.8 : 0.6;
    found.evidence = std::move(waits->evidence);
    return found;
}

constexpr Heading kHeading = {"sync-bound", "Waiting for the GPU in every step",
                              "the queue runs empty because the host waits for the GPU",
                              "reading results every 100 steps"};
const RuleRegistration kRegistration({"sync_every_step", Scope::kOneGpu, look, kHeading, Programs::training});

}  // namespace

}  // namespace gpushim::analysis::rule_sync_every_step
