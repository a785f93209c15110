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
constexpr double kNearlyAll = 0.9;
// Forward takes half as long as backward, and an optimizer follows.
constexpr double kBackwardOfCompute = 0.6;

// "8.00 ms of a step"
std::string length_text(const Situation& run, double ns) { return duration_text(ns) + " of a " + run.per(); }

std::string who_text(const Situation& run) {
    return run.gpus() > 1 ? "GPUs only communicate for up to " : "the GPU only communicates for ";
}

std::string parts_text(const Exposed& exposed) {
    return ": transfers " + duration_text(exposed.transfer_ns) + ", waiting for other ranks " +
           duration_text(exposed.wait_ns);
}

// What large messages move in all of their time, waits included: links carry at least that. Empty: it is not
// told how large they are, or for how many ranks.
std::string rate_in_brackets(const Situation& run) {
    constexpr int64_t kLargeBytes = 1 << 20;
    Query calls = run.ask(
        "SELECT i.op, i.ranks, sum(1.0 * i.whole_bytes), sum(1.0 * i.own_ns) FROM collective_instance i"
        " JOIN v_counted_step s ON s.rank_id = i.rank_id AND s.step = i.step"
        " WHERE i.ranks > 1 AND i.own_ns > 0 AND i.whole_bytes >= ?1 GROUP BY i.op, i.ranks");
    calls.bind(1, kLargeBytes);
    double bus_bytes = 0, ns = 0;
    while (calls.step()) {
        const auto op = operation_named(calls.text(0));
        if (!op || facts_of(*op).direction != WaitDirection::all) continue;
        bus_bytes += bus_factor(*op, calls.number(1)) * calls.real(2);
        ns += calls.real(3);
    }
    if (bus_bytes <= 0) return "";
    return " (large messages: " + rate_text(bus_bytes * 1e9 / ns) + " of bus, waits included)";
}

// Nothing is reduced that could be sent while backward runs: it sends messages, or each to all others, of
// which at most all can be hidden; or none was seen on all of their ranks, so what of that time is waiting is
// not known.
std::optional<Finding> without_kinds(const Situation& run, const Exposed& exposed) {
    Query unknown = run.ask("SELECT why, why LIKE 'of %' FROM v_unknown_wait ORDER BY 2 DESC LIMIT 1");
    const bool is_unknown = unknown.step();
    const bool ranks_are_missing = is_unknown && unknown.number(1) != 0;
    Finding found;
    const std::string rate = is_unknown ? rate_in_brackets(run) : "";
    if (is_unknown)
        found.title = who_text(run) + length_text(run, exposed.transfer_ns) + rate +
                      "; how much of that is waiting for other ranks is not known, for " +
                      (ranks_are_missing ? "these are not in this run" : unknown.text(0));
    else
        found.title =
            who_text(run) + length_text(run, exposed.transfer_ns + exposed.wait_ns) + parts_text(exposed);
    if (ranks_are_missing) found.try_it = run.advice({"exposed_communication.alone"}) + " ";
    if (!rate.empty()) found.try_it += run.advice({"exposed_communication.rate"}) + " ";
    found.try_it += run.advice({"exposed_communication"});
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
    if (bytes <= 0) return without_kinds(run, exposed);
    const double last_bucket = std::min(1.0, kBucketBytes / bytes);
    Finding found;
    found.title = "the GPU only communicates for " + length_text(run, exposed.transfer_ns + exposed.wait_ns) +
                  parts_text(exposed);
    found.try_it = run.advice({"exposed_communication"});
    found.gain = transfers_hidden(run, needed_share(run, traffic), kBackwardOfCompute, last_bucket);
    // Shorter transfers come first, or compute is too short: the share of the gain is not that of the time.
    if (found.gain.high_ns < kNearlyAll * exposed.transfer_ns)
        found.lead = "transfers run alone that could run behind compute";
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
