// The host reads something small in every step and waits for it: the queue runs empty and has to be filled
// again. What a wait itself leaves idle, and the gaps that it made. Of a loss scale that is dynamic another
// rule tells.
#include <cmath>

#include "../text/units.h"
#include "../to_int64.h"
#include "waits.h"

namespace gpushim::analysis::rule_sync_every_step {

namespace {

// What the host does while it waits, and behind that.
constexpr Causes kAtWaits = {"sync", "host_cpu", "host_blocked", "callback", "host_unknown"};

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

// Nobody prints so many: they decide on what comes next.
constexpr double kMany = 2.5;
constexpr Heading kManyReads = {"sync-bound", "Waiting for the GPU many times in a step", kLaunches.lead,
                                "decisions on the GPU, or several numbers read at once"};

std::string what_is_read(const Waits& waits) {
    const std::string size = bytes_text(waits.read_bytes) + " to the host and a wait for ";
    return waits.reads < kMany
               ? "a copy of " + size + "it "
               : count_text(to_int64(std::round(waits.reads))) + " copies of " + size + "each ";
}

std::optional<Finding> look(const Situation& run) {
    auto waits = waits_of_every_step(run);
    if (!waits || (waits->read && scales_loss_dynamically(run))) return {};
    Finding found;
    found.gain = waits->gain;
    found.title = (waits->read ? what_is_read(*waits) : "the host waits for the GPU ") + run.each() + ": " +
                  duration_text(found.gain.high_ns) + " idle in gaps that waits caused";
    const bool is_number = waits->read && waits->read_bytes <= kOneNumber;
    const bool has_metrics = waits->read || run.ecosystem().python || run.ecosystem().has_framework();
    if (waits->read && waits->reads >= kMany) {
        found.try_it = run.advice({"sync_every_step.many"});
        found.heading = &kManyReads;
    } else if (run.is_per_step()) {
        found.try_it = run.advice({is_number     ? "sync_every_step.number"
                                   : has_metrics ? "sync_every_step"
                                                 : "sync_every_step.launches"});
        if (!has_metrics) found.heading = &kLaunches;
    } else {
        found.try_it = run.advice({has_metrics ? "sync_every_step.again" : "sync_every_step.launches"});
        found.heading = has_metrics ? &kAgainReads : &kAgainLaunches;
    }
    found.where = run.in_range(kAtWaits);
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
