#include "waits.h"

#include <algorithm>
#include <cmath>

#include "../advice/contention.h"
#include "timed_gpus.h"

namespace gpushim::analysis {

namespace {

constexpr double kEveryStep = 0.5;  // of the steps

constexpr Causes kWaits = {"sync", "sync_other_gpu"};

// Where GPUs work in turns, one has nothing to do before the other is done, whether the host waits or not:
// sequential_gpus tells of that time.
Causes waits_that_go(const Situation& run) {
    return sequential_index(run).value_or(0) < kSequential ? kWaits : Causes{"sync"};
}

// What the wait itself leaves, and the gaps it made: of launches always, of what the host did then only where
// it had just read something.
Gain gain_of(const Situation& run, bool reads) {
    const Causes waits = waits_that_go(run);
    const Gain waiting = run.what_if().without(waits);
    static constexpr Causes kLaunches = {"launch_call", "launch_bound", "launch_latency", "kernel_gap"};
    static constexpr Causes kAll = {
        "launch_call", "launch_bound", "launch_latency", "kernel_gap",       "framework",
        "optimizer",   "python",       "callback",       "interpreter_lock", "garbage_collection",
        "host_cpu",    "host_unknown", "host_blocked",   "operator_cpu",     "between_launches"};
    const Causes causes = waits | (reads ? kAll : kLaunches);
    const Gain drained = without_contention(run, causes, run.what_if().without_drained(causes));
    // Without a reading the wait may have a reason of its own, and only its own time is sure to go.
    const double low_ns = reads ? drained.low_ns : std::min(drained.high_ns, waiting.low_ns);
    return {low_ns, std::max(drained.high_ns, waiting.high_ns)};
}

// Without steps: so often that it is no start's, and behind a few launches each. Copies of a few bytes to the
// host wait by themselves.
bool waits_again_and_again(const Situation& run, Waits& waits) {
    constexpr double kMany = 20, kLaunchesEach = 10;
    const double called = run.real("SELECT max(calls * 1.0) FROM sync_stat").value_or(0);
    const double read =
        run.real("SELECT max(count * 1.0) FROM transfer_pattern WHERE pattern = 'small_d2h_sync'")
            .value_or(0);
    const double launched =
        run.real("SELECT max(n) FROM (SELECT sum(executed) * 1.0 AS n FROM v_launch_work GROUP BY gpu_id)")
            .value_or(0);
    const double most = std::max(called, read);
    waits.read = 2 * read >= most;
    return most >= kMany && launched <= kLaunchesEach * most && !run.may_be_start(kWaits);
}

bool waits_in_every_step(const Situation& run, Waits& waits) {
    const auto counted = run.real("SELECT max(in_steps * 1.0) FROM sync_stat");
    waits.read = run.reads_every_step();
    waits.reads = run.reads_each();
    return counted && run.counted(*counted) >= kEveryStep;
}

}  // namespace

std::optional<Waits> waits_of_every_step(const Situation& run) {
    Waits waits;
    if (!(run.is_per_step() ? waits_in_every_step(run, waits) : waits_again_and_again(run, waits))) return {};
    waits.gain = gain_of(run, waits.read);
    if (waits.read) {
        Query pattern = run.ask(
            "SELECT rowid, bytes * 1.0 / count FROM transfer_pattern"
            " WHERE pattern = 'small_d2h_sync' ORDER BY count DESC LIMIT 1");
        pattern.step();
        waits.read_bytes = std::round(pattern.real(1));  // on average
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
