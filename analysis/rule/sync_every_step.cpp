// The host reads something small in every step and waits for it: the queue runs empty and has to be filled
// again. What a wait itself leaves idle, and the gaps that it made.
#include <algorithm>

#include "../advice/rule.h"
#include "../text/units.h"

namespace gpushim::analysis {

namespace {

constexpr double kEveryStep = 0.5;  // of the steps
constexpr double kOneNumber = 8;    // bytes: a loss, or whether gradients overflowed

std::optional<Finding> look(const Situation& run) {
    const auto waits = run.real("SELECT max(in_steps * 1.0) FROM sync_stat");
    if (!waits || run.counted(*waits) < kEveryStep) return {};
    Query pattern = run.ask(
        "SELECT rowid, count, bytes FROM transfer_pattern"
        " WHERE pattern = 'small_d2h_sync' ORDER BY count DESC LIMIT 1");
    const bool reads = pattern.step() && run.counted(pattern.real(1)) >= kEveryStep;
    const double each = reads ? pattern.real(2) / std::max(1.0, pattern.real(1)) : 0;
    Finding found;
    found.gain = run.what_if().without_drained(
        {"sync", "launch_call", "launch_bound", "launch_latency", "kernel_gap"});
    const Gain waiting = run.what_if().without({"sync"});
    found.gain.low_ns = std::min(found.gain.high_ns, waiting.low_ns);
    found.gain.high_ns = std::max(found.gain.high_ns, waiting.high_ns);
    found.title = reads ? "a copy of " + bytes_text(each) + " to the host and a wait for it in every " +
                              run.per() + ": " + duration_text(found.gain.high_ns) +
                              " idle in gaps that waits made"
                        : "the host waits for the GPU in every " + run.per() + ": " +
                              duration_text(found.gain.high_ns) + " idle in gaps that waits made";
    found.try_it =
        reads && each <= kOneNumber
            ? "read the loss every 100 steps (.item() waits); loss scaling reads one flag a step:"
              " bfloat16 needs none; fused optimizers, capturable=True"
            : "no torch.cuda.synchronize(), .item(), .cpu() or printing of tensors in the loop; keep"
              " metrics on the GPU and read them every 100 steps; steps_per_execution in Keras";
    found.confidence = reads ? 0.8 : 0.6;
    found.evidence =
        run.rows("sync_stat", "SELECT rowid FROM sync_stat ORDER BY in_steps DESC, rowid LIMIT 2");
    if (reads) found.evidence.push_back({"transfer_pattern", pattern.number(0)});
    return found;
}

const RuleRegistration kRegistration({"sync_every_step", Scope::kOneGpu, look});

}  // namespace

}  // namespace gpushim::analysis
