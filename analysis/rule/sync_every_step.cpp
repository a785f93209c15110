// The host reads something small in every step and waits for it: the queue runs empty and has to be filled
// again. What a wait itself leaves idle, and the gaps that it made.
#include <algorithm>

#include "../advice/rule.h"
#include "../text/units.h"

namespace gpushim::analysis::rule_sync_every_step {

namespace {

constexpr double kEveryStep = 0.5;  // of the steps
constexpr double kOneNumber = 8;    // bytes: a loss, or whether gradients overflowed

// What the wait itself leaves, and the gaps it made: of launches always, of what the host did then only where
// it had just read something.
Gain gain_of(const Situation& run, bool reads) {
    const Gain waiting = run.what_if().without({"sync"});
    const Gain drained = reads ? run.what_if().without_drained(
                                     {"sync", "launch_call", "launch_bound", "launch_latency", "kernel_gap",
                                      "framework", "optimizer", "python", "callback", "interpreter_lock",
                                      "garbage_collection", "host_cpu", "host_unknown", "host_blocked"})
                               : run.what_if().without_drained(
                                     {"sync", "launch_call", "launch_bound", "launch_latency", "kernel_gap"});
    // Without a reading the wait may have a reason of its own, and only its own time is sure to go.
    const double low_ns = reads ? drained.low_ns : std::min(drained.high_ns, waiting.low_ns);
    return {low_ns, std::max(drained.high_ns, waiting.high_ns)};
}

std::optional<Finding> look(const Situation& run) {
    const auto waits = run.real("SELECT max(in_steps * 1.0) FROM sync_stat");
    if (!waits || run.counted(*waits) < kEveryStep) return {};
    const bool reads = run.reads_every_step();
    Finding found;
    found.gain = gain_of(run, reads);
    const std::string idle = duration_text(found.gain.high_ns) + " idle in gaps that waits caused";
    double each = 0;
    if (reads) {
        Query pattern = run.ask(
            "SELECT rowid, bytes * 1.0 / count FROM transfer_pattern"
            " WHERE pattern = 'small_d2h_sync' ORDER BY count DESC LIMIT 1");
        pattern.step();
        each = pattern.real(1);
        found.evidence = {{"transfer_pattern", pattern.number(0)}};
    }
    found.title = (reads ? "a copy of " + bytes_text(each) + " to the host and a wait for it in every "
                         : "the host waits for the GPU in every ") +
                  run.per() + ": " + idle;
    found.try_it = run.advice({reads && each <= kOneNumber ? "sync_every_step.number" : "sync_every_step"});
    found.confidence = reads ? 0.8 : 0.6;
    for (const Evidence& row :
         run.rows("sync_stat", "SELECT rowid FROM sync_stat ORDER BY in_steps DESC, rowid LIMIT 2"))
        found.evidence.push_back(row);
    return found;
}

constexpr Heading kHeading = {"sync-bound", "Waiting for the GPU in every step",
                              "the queue runs empty because the host waits for the GPU",
                              "reading results every 100 steps"};
const RuleRegistration kRegistration({"sync_every_step", Scope::kOneGpu, look, kHeading});

}  // namespace

}  // namespace gpushim::analysis::rule_sync_every_step
