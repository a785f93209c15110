// Transfers while nothing else runs, though there is compute behind which they could run. Waiting for other
// ranks is told apart: overlap does not shorten it (straggler).
//
//   now         ██ forward ██ backward ███cccccccc|
//   behind it   ██ forward ██ backward ██c|            the last bucket stays
//                                ccccccc
#include <algorithm>

#include "../text/units.h"
#include "excess.h"

namespace gpushim::analysis::rule_exposed_communication {

namespace {

constexpr double kBucketBytes = 25e6;  // as PyTorch's DDP makes them: the last one has nothing behind it
// Forward takes half as long as backward, and an optimizer follows.
constexpr double kBackwardOfCompute = 0.6;

// None of its collectives was seen on all of their ranks, so what of that time is waiting is not known: at
// most all of it can go.
std::optional<Finding> undivided(const Situation& run, const Exposed& exposed) {
    Query missing = run.ask("SELECT 1 FROM v_unknown_wait WHERE why LIKE 'of %'");
    const bool ranks_are_missing = missing.step();
    Finding found;
    found.title =
        (run.gpus() > 1 ? "GPUs only communicate for up to " : "the GPU only communicates for ") +
        duration_text(exposed.transfer_ns) + " of a " + run.per() +
        "; how much of that is waiting for other ranks is not known, for " +
        (ranks_are_missing ? "these are not in this run" : "its collectives are known by their names only");
    found.try_it = ranks_are_missing ? run.advice({"exposed_communication.alone", "exposed_communication"})
                                     : run.advice({"exposed_communication"});
    found.gain = less_exposed(run, 0, 1);
    found.confidence = 0.5;
    found.fills_step = exposed.transfer_ns > exposed.compute_ns;
    found.evidence =
        run.rows("collective_stat", "SELECT rowid FROM collective_stat ORDER BY count DESC LIMIT 3");
    return found;
}

std::optional<Finding> look(const Situation& run) {
    const Exposed exposed = exposed_communication(run);
    const Traffic traffic(run);
    double bytes = 0;
    std::vector<const CollectiveKind*> reductions;
    for (const CollectiveKind& kind : traffic.kinds)
        if (kind.is_reduction()) {
            bytes += kind.calls * static_cast<double>(kind.bytes);
            reductions.push_back(&kind);
        }
    if (exposed.transfer_ns <= 0) return {};
    if (traffic.kinds.empty()) return undivided(run, exposed);
    if (bytes <= 0) return {};
    const double last_bucket = std::min(1.0, kBucketBytes / bytes);
    Finding found;
    found.title = "the GPU only communicates for " + duration_text(exposed.transfer_ns + exposed.wait_ns) +
                  " of a " + run.per() + ": transfers " + duration_text(exposed.transfer_ns) +
                  ", waiting for other ranks " + duration_text(exposed.wait_ns);
    found.try_it = run.advice({"exposed_communication"});
    found.gain = transfers_hidden(run, needed_share(run, traffic), kBackwardOfCompute, last_bucket);
    found.confidence = 0.6;  // activations of tensor parallelism cannot be hidden like this
    found.evidence = traffic.evidence(reductions);
    return found;
}

constexpr Heading kHeading = {"communication-bound", "Communication that nothing hides",
                              "transfers run and nothing computes", "transfers behind compute"};
const RuleRegistration kRegistration({"exposed_communication", Scope::kManyGpus, look, kHeading,
                                      Programs::training});

}  // namespace

}  // namespace gpushim::analysis::rule_exposed_communication
