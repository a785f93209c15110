// Many kernels that each do little: what they read and write goes over memory once for each of them, and a
// compiler could make one of several.
#include <algorithm>

#include "../advice/rule.h"
#include "../advice/work.h"
#include "../text/units.h"
#include "../to_int64.h"

namespace gpushim::analysis::rule_small_kernels {

namespace {

constexpr double kMany = 20;  // in a step; fewer are not worth a compiler
// Each, on average: none of them is small, and their launches are nothing beside them.
constexpr double kLongNs = 100'000;
constexpr Heading kLong = {"unfused kernels", "Kernels that could be fewer",
                           "elementwise kernels and reductions run one by one", "fused kernels"};

// Long elementwise kernels, too: fused, what they read and write goes over memory once. Not what a compiler
// made: that is fused; and not matrix products, which are fused by nobody.
constexpr const char* kFusible =
    "coalesce(k.comm_source, 'none') = 'none' AND coalesce(k.eligible, 0) = 0"
    " AND coalesce(k.library, '') NOT IN ('triton', 'xla')"
    " AND k.family <> 'attention' AND (k.family IN ('elementwise', 'normalisation', 'softmax',"
    " 'reduction', 'optimizer', 'loss')"
    " OR k.sum_ns < k.timed * 2 * (SELECT coalesce(u.latency_ns, 0) FROM gpu u WHERE u.gpu_id = k.gpu_id))";

constexpr const char* kLaunches =
    "SELECT max(n) FROM (SELECT sum(launches) AS n FROM kernel GROUP BY gpu_id)";

std::optional<Finding> look(const Situation& run) {
    const Work small = kernels_where(run, kFusible);
    if (small.count < kMany) return {};
    // A second of a run that was shorter may hold more of them than the run.
    if (!run.has_steps() && run.real(kLaunches).value_or(kMany) < kMany) return {};
    Finding found;
    found.title = count_text(to_int64(small.count)) + " small or elementwise kernels in a " + run.per() +
                  " take " + small.text() + ", " + small.text_of_each() + " each; most in " + small.largest;
    found.try_it = run.advice({"small_kernels"});
    found.gain = small.shorter_by(factor("fusion"), run);
    found.confidence = 0.6;
    found.evidence = small.evidence;
    if (small.ns > kLongNs * small.count) found.heading = &kLong;
    return found;
}

constexpr Heading kHeading = {"small kernels", "Many small kernels", "small kernels run one by one",
                              "fused kernels"};
const RuleRegistration kRegistration({"small_kernels", Scope::kKernels, look, kHeading});

}  // namespace

}  // namespace gpushim::analysis::rule_small_kernels
