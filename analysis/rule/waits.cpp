#include "waits.h"

#include <algorithm>

#include "../advice/contention.h"

namespace gpushim::analysis {

namespace {

constexpr double kEveryStep = 0.5;  // of the steps

// What the wait itself leaves, and the gaps it made: of launches always, of what the host did then only where
// it had just read something.
Gain gain_of(const Situation& run, bool reads) {
    const Gain waiting = run.what_if().without({"sync"});
    static constexpr Causes kLaunches = {"sync", "launch_call", "launch_bound", "launch_latency",
                                         "kernel_gap"};
    static constexpr Causes kAll = {
        "sync",         "launch_call",  "launch_bound", "launch_latency",   "kernel_gap",         "framework",
        "optimizer",    "python",       "callback",     "interpreter_lock", "garbage_collection", "host_cpu",
        "host_unknown", "host_blocked", "operator_cpu", "between_launches"};
    const Causes causes = reads ? kAll : kLaunches;
    const Gain drained = without_contention(run, causes, run.what_if().without_drained(causes));
    // Without a reading the wait may have a reason of its own, and only its own time is sure to go.
    const double low_ns = reads ? drained.low_ns : std::min(drained.high_ns, waiting.low_ns);
    return {low_ns, std::max(drained.high_ns, waiting.high_ns)};
}

}  // namespace

std::optional<Waits> waits_of_every_step(const Situation& run) {
    const auto counted = run.real("SELECT max(in_steps * 1.0) FROM sync_stat");
    if (!counted || run.counted(*counted) < kEveryStep) return {};
    Waits waits;
    waits.read = run.reads_every_step();
    waits.gain = gain_of(run, waits.read);
    if (waits.read) {
        Query pattern = run.ask(
            "SELECT rowid, bytes * 1.0 / count FROM transfer_pattern"
            " WHERE pattern = 'small_d2h_sync' ORDER BY count DESC LIMIT 1");
        pattern.step();
        waits.read_bytes = pattern.real(1);
        waits.evidence = {{"transfer_pattern", pattern.number(0)}};
    }
    for (const Evidence& row :
         run.rows("sync_stat", "SELECT rowid FROM sync_stat ORDER BY in_steps DESC, rowid LIMIT 2"))
        waits.evidence.push_back(row);
    return waits;
}

bool scales_loss_dynamically(const Situation& run) {
    return run
        .number(
            "SELECT 1 FROM kernel WHERE name LIKE '%amp_update_scale%' OR name LIKE '%non_finite_check%'"
            " OR name LIKE '%unscale%' LIMIT 1")
        .has_value();
}

}  // namespace gpushim::analysis
