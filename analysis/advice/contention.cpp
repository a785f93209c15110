#include "contention.h"

namespace gpushim::analysis {

double contended_ns(const Situation& run) {
    const auto ns = run.real(
        "SELECT max(ns) FROM (SELECT sum(c.ns) * 1.0 / (SELECT count(*) FROM v_gpu_basis n WHERE n.gpu_id ="
        " c.gpu_id) AS ns FROM cpu_contention c JOIN v_gpu_basis b ON b.gpu_id = c.gpu_id AND b.step = c.step"
        " GROUP BY c.gpu_id)");
    return ns.value_or(0);
}

}  // namespace gpushim::analysis
