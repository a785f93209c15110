// Copies from the device run and nothing else does: checkpoints, in some steps, or results in each. The GPU
// is busy with them, so no idle time says so. Small ones are waits (sync_every_step), and what comes back
// in every step beside others repeated_copies has.
#include "../advice/rule.h"
#include "../text/units.h"
#include "alone.h"
#include "repeated.h"

namespace gpushim::analysis::rule_copies_out {

namespace {

constexpr KindOfCopy kCopiesOut = {"d2h", 16, 65536};

std::optional<Finding> look(const Situation& run) {
    if (!run.has_steps()) return {};
    AloneInSteps alone(run, kCopiesOut);
    if (alone.is_never()) return {};
    const bool others_come_back = copies_come_back(run);
    // What is usual is repeated_copies': only what is more counts here.
    if (others_come_back) alone.leave_out_what_is_usual(static_cast<size_t>(run.what_if().steps()));
    const auto of = [&](const GpuInStep& gpu) { return alone.ns(gpu); };
    const Hidden is = hidden(run, factor("hidden_copy_out"), of);
    if (is.gain.high_ns <= 0) return {};
    Finding found;
    found.gain = is.gain;
    found.title = "copies from the device take " + duration_text(run.what_if().mean_ns(of)) + " of a step" +
                  (others_come_back ? " more than is usual" : "") + ", in which nothing else runs on the GPU";
    found.in_some_steps = is.where.is_some();
    if (found.in_some_steps) found.title += is.where.text();
    found.try_it = run.advice({"copies_out"});
    found.confidence = 0.6;
    found.evidence = run.rows("copy_stat",
                              "SELECT rowid FROM copy_stat WHERE kind = 'd2h' AND max_bytes >= 65536"
                              " ORDER BY blocks_kernels_ns DESC, rowid LIMIT 3");
    return found;
}

constexpr Heading kHeading = {"copy-bound", "Copies from the device",
                              "the GPU copies to the host and does nothing else",
                              "copies behind the next steps, or fewer of them"};
const RuleRegistration kRegistration({"copies_out", Scope::kInput, look, kHeading, Programs::training});

}  // namespace

}  // namespace gpushim::analysis::rule_copies_out
