// The GPU waits for launches: the host cannot call as quickly as kernels end.
#include <algorithm>

#include "../advice/rule.h"
#include "../text/units.h"
#include "../to_int64.h"

namespace gpushim::analysis::rule_launch_bound {

namespace {

constexpr double kMany = 20;  // in a run without steps; fewer do not come again and again
constexpr const char* kMost =
    "SELECT max(n) FROM (SELECT sum(executed) * 1.0 AS n FROM v_launch_work GROUP BY gpu_id)";

constexpr Causes kLaunching = {"launch_call", "launch_bound", "launch_latency", "kernel_gap"};
// At a start they load code: that is another rule's.
constexpr Causes kSlowToo = {"launch_call", "launch_bound", "launch_latency", "kernel_gap", "slow_call"};

// Where nothing told what the host does between launches: many short gaps are what it needs from one to the
// next. One that is longer than all others together is step_gap's.
double inferred_ns(const GpuInStep& gpu) { return gpu.idle_ns(kBetweenLaunches) - gpu.pause_ns(); }

// Of gaps so short that the clocks do not tell when the next was launched: as much as is known to be for
// launches.
double unresolved_ns(const GpuInStep& gpu, Causes causes) {
    const double known_ns =
        WhatIf::idle_gone(gpu, causes, WhatIf::Left::kKernelGap).high_ns + inferred_ns(gpu);
    return std::min(known_ns, gpu.idle_ns({"unresolved"}));
}

// Low: the longest of the gaps between launches may be something else, too.
Gain gone_from(const GpuInStep& gpu, Causes causes) {
    Gain gone = WhatIf::idle_gone(gpu, causes, WhatIf::Left::kKernelGap);
    const Gain between = WhatIf::idle_gone(gpu, kBetweenLaunches, WhatIf::Left::kKernelGap);
    gone.low_ns += std::max(0.0, between.low_ns - gpu.longest_ns(kBetweenLaunches));
    gone.high_ns += inferred_ns(gpu) + unresolved_ns(gpu, causes);
    return gone;
}

std::string inferred_text(double inferred) {
    if (inferred <= 0) return "";
    return "; for " + duration_text(inferred) +
           " of it the host was on its way from one to the next (inferred: less than 1 ms apart, and nothing "
           "tells what it did)";
}

std::string unresolved_text(double unresolved, double idle_ns) {
    constexpr double kWorthSaying = 0.05;
    if (unresolved <= kWorthSaying * idle_ns) return "";
    return "; and up to " + duration_text(unresolved) + " in gaps that the clocks do not resolve";
}

std::optional<Finding> look(const Situation& run) {
    if (run.serving().lacks_graphs()) return {};  // another rule's
    const WhatIf& what_if = run.what_if();
    const Causes causes = run.may_be_start({"slow_call"}) ? kLaunching : kSlowToo;
    const double inferred = what_if.mean_ns(inferred_ns);
    const double idle_ns = what_if.idle_ns(causes) + inferred;
    if (idle_ns <= 0) return {};
    const auto launched = run.real(kMost);
    if (!run.is_per_step() && launched.value_or(kMany) < kMany) return {};
    const double launches = run.counted(launched.value_or(0));
    // Copies alone wait for no launches.
    if (launched.value_or(0) <= 0 && run.number("SELECT 1 FROM copy_stat LIMIT 1")) return {};
    const double small =
        run.real("SELECT sum(small) * 1.0 / sum(timed) FROM launch_stat WHERE timed > 0").value_or(0) *
        launches;
    Finding found;
    found.title =
        "the GPU waits " + duration_text(idle_ns) + " of a " + run.per() + " for " +
        count_text(to_int64(launches)) + (to_int64(launches) == 1 ? " launch, " : " launches, ") +
        count_text(to_int64(small)) + " of them for small kernels" + inferred_text(inferred) +
        unresolved_text(what_if.mean_ns([&](const GpuInStep& gpu) { return unresolved_ns(gpu, causes); }),
                        idle_ns);
    found.try_it = run.advice({"launch_bound"});
    found.gain = what_if.shorter([&](const GpuInStep& gpu) { return gone_from(gpu, causes); });
    found.confidence = 2 * inferred > idle_ns ? 0.7 : 0.85;
    found.evidence = run.gaps_of(2 * inferred > idle_ns ? kBetweenLaunches : causes);
    for (const Evidence& row :
         run.rows("launch_stat", "SELECT rowid FROM launch_stat ORDER BY count DESC LIMIT 1"))
        found.evidence.push_back(row);
    return found;
}

constexpr Heading kHeading = {"launch-bound", "Waiting for launches", "the GPU waits for launches",
                              "CUDA graphs or a compiler"};
const RuleRegistration kRegistration({"launch_bound", Scope::kOneGpu, look, kHeading});

}  // namespace

}  // namespace gpushim::analysis::rule_launch_bound
