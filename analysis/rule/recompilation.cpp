// Code is loaded after warm-up: a new shape makes the framework compile again.
#include "../advice/rule.h"
#include "../text/units.h"

namespace gpushim::analysis::rule_recompilation {

namespace {

constexpr Causes kLoads = {"alloc_or_load", "slow_call"};
constexpr Causes kCompiles = {"alloc_or_load", "slow_call",    "framework",        "operator_cpu",
                              "python",        "callback",     "interpreter_lock", "garbage_collection",
                              "host_cpu",      "host_blocked", "host_unknown",     "between_launches"};

// Samples are of all steps: those of steps that load code only where these have most of such time.
std::string seen_in(const Situation& run, const Gain& gain) {
    return 2 * gain.high_ns >= run.what_if().idle_ns(kCompiles) ? run.seen_in(kCompiles) : "";
}

std::optional<Finding> look(const Situation& run) {
    Query row = run.ask(
        "SELECT rowid, after_warm_up, after_warm_up_ns FROM load_stat"
        " WHERE after_warm_up > 0 ORDER BY after_warm_up_ns DESC LIMIT 1");
    if (!row.step()) return {};
    Finding found;
    found.title = "code was loaded " + count_text(row.number(1)) + " times after warm-up, " +
                  duration_text(row.real(2)) + " in all";
    found.try_it = run.advice({"recompilation"});
    // Compiling itself is the host's work around the loads: of a step, not of whatever stretch was timed.
    found.gain = run.what_if().shorter([is_step = run.has_steps()](const GpuInStep& gpu) {
        if (!gpu.loads_code) return Gain{};
        return Gain{gpu.idle_ns(kLoads) * gpu.sure_share(), gpu.idle_ns(is_step ? kCompiles : kLoads)};
    });
    found.where = seen_in(run, found.gain);
    found.confidence = 0.7;
    found.evidence = {{"load_stat", row.number(0)}};
    return found;
}

constexpr Heading kHeading = {"compile-bound", "Code loaded after warm-up",
                              "the GPU waits while code is compiled or loaded", "fewer shapes"};
const RuleRegistration kRegistration({"recompilation", Scope::kOneGpu, look, kHeading});

}  // namespace

}  // namespace gpushim::analysis::rule_recompilation
