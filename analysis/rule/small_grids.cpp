// Kernels with at most half as many blocks as the GPU has multiprocessors take most of the time: the GPU is
// busy, and half of it or more has nothing to do. Those that leave out a few do so on purpose. How well the
// work can be split is not known, so this is a note without a gain.
#include <algorithm>

#include "../advice/work.h"
#include "../text/units.h"
#include "timed_gpus.h"

namespace gpushim::analysis::rule_small_grids {

namespace {

constexpr double kMost = 0.7;    // of the step
constexpr double kAtOnce = 1.1;  // more than this of the time in which kernels ran: several ran at once
constexpr const char* kSmall =
    "k.small_grid * 2 > k.timed AND k.small_grid_filled_ns * 2 <= k.small_grid_ns"
    " AND coalesce(k.comm_source, 'none') = 'none'";

std::optional<Finding> look(const Situation& run) {
    if (!run.is_known()) return {};
    const Work small = kernels_where(run, kSmall);
    if (small.ns < kMost * run.step_ns()) return {};
    double compute_ns = 0;
    for (const TimedGpu& gpu : timed_gpus(run)) compute_ns = std::max(compute_ns, gpu.compute_ns);
    if (small.ns > kAtOnce * compute_ns) return {};
    Finding found;
    found.title =
        duration_text(small.ns) + " of a " + run.per() +
        " go to kernels with at most half as many blocks as the GPU has multiprocessors, most of it to " +
        small.largest + ": the GPU is busy, and at least half of it has nothing to do";
    found.try_it = run.advice({"small_grids"});
    found.confidence = 0.7;
    found.kind = Kind::kNote;
    found.evidence = small.evidence;
    return found;
}

constexpr Heading kHeading = {"small grids", "Kernels that leave most of the GPU empty",
                              "computes, in kernels that leave at least half of the GPU empty",
                              "more blocks, or several such kernels at once"};
const RuleRegistration kRegistration({"small_grids", Scope::kOneGpu, look, kHeading});

}  // namespace

}  // namespace gpushim::analysis::rule_small_grids
