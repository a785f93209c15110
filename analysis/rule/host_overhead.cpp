#include "host_overhead.h"

#include "../text/units.h"
#include "../to_int64.h"

namespace gpushim::analysis {

std::optional<Finding> host_overhead(const Situation& run, const HostOverhead& is) {
    if (run.serving().lacks_graphs()) return {};  // another rule's
    const double idle_ns = run.what_if().idle_ns(is.causes);
    if (idle_ns <= 0) return {};
    const double launches = run.counted(
        run.real("SELECT max(n) FROM (SELECT sum(executed) * 1.0 AS n FROM v_launch_work GROUP BY gpu_id)")
            .value_or(0));
    Finding found;
    found.title = "the GPU waits " + duration_text(idle_ns) + " of a " + run.per() + " while the host is " +
                  is.where + " " + count_text(to_int64(launches)) +
                  (to_int64(launches) == 1 ? " launch" : " launches");
    found.try_it = run.advice({is.id});
    found.gain = run.what_if().without(is.causes, WhatIf::Left::kKernelGap);
    found.confidence = 0.8;
    found.where = run.seen_in(is.causes);
    found.evidence = run.gaps_of(is.causes);
    return found;
}

}  // namespace gpushim::analysis
