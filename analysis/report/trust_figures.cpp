#include "trust_figures.h"

#include <algorithm>

#include "../advice/evidence_limits.h"
#include "../text/units.h"
#include "facts.h"
#include "gpu_figures.h"

namespace gpushim::analysis {

namespace {

bool is_busy_bounded(const std::vector<GpuFigures>& gpus) {
    bool is_any_known = false;
    for (const GpuFigures& gpu : gpus) {
        if (!gpu.is_known()) continue;
        is_any_known = true;
        const ShareRange likely = gpu.busy();  // of all steps, where some were timed
        const double certain = gpu.of_window(gpu.busy_high_ns - gpu.busy_low_ns);
        if (std::max(certain, likely.high - likely.low) > kToldWithin) return false;
    }
    return is_any_known;
}

// The latency that was taken for granted stands in the last but one, too: only traces tell if it was
// calibrated.
constexpr const char* kGpus =
    "SELECT min(g.coverage), min(g.timed_share), min(g.windows), max(g.latency_ns), (SELECT latency_p50_ns"
    " FROM launch_stat WHERE on_empty >= 5 ORDER BY count DESC LIMIT 1),"
    " CASE WHEN count(w.coverage) = count(g.coverage) THEN min(w.coverage) END"
    " FROM gpu g LEFT JOIN step_work w ON w.gpu_id = g.gpu_id WHERE g.level <> 'host'"
    " AND g.gpu_id NOT IN (SELECT gpu_id FROM v_unused_gpu)";

// A process stands for as much of the run as it is long, and a short one is no worst case of the others.
constexpr const char* kCosts =
    "WITH process AS (SELECT *, coalesce(max(last_ns - first_ns, 1), 1) AS ns FROM rank),"
    " known AS (SELECT *, count(*) OVER () = 1 AS is_only FROM process WHERE own_cost_share NOTNULL)"
    "SELECT (SELECT max(clock_error_ns) FROM rank),"
    " CASE WHEN max(is_only) THEN max(own_cost_share) ELSE sum(own_cost_share * ns) / sum(ns) END, "
    "max(budget),"
    " CASE WHEN max(is_only) THEN max(writer_cpu_share) ELSE sum(writer_cpu_share * ns) / sum(ns) END, "
    "count(*),"
    " max(CASE WHEN ns * 10 >= (SELECT max(ns) FROM known) THEN own_cost_share END) FROM known";

}  // namespace

std::optional<std::string> too_few_with_times(const ReportSource& source) {
    Query gpus = source.run.prepare(
        "SELECT avg(coalesce(w.coverage, g.coverage)), count(w.coverage) FROM gpu g LEFT JOIN step_work w"
        " ON w.gpu_id = g.gpu_id WHERE g.level <> 'host' AND g.gpu_id NOT IN (SELECT gpu_id FROM "
        "v_unused_gpu)");
    const auto coverage = gpus.step() ? maybe_real(gpus, 0) : std::nullopt;
    if (!coverage || *coverage >= kHalfCovered || is_busy_bounded(gpu_figures(source))) return {};
    return percent_text(*coverage) + " of the operations in " +
           (gpus.number(1) > 0 ? "steps" : "timed spans");
}

TrustFigures trust_figures(const Database& run) {
    TrustFigures trust;
    Query gpus = run.prepare(kGpus);
    if (gpus.step()) {
        trust.coverage = maybe_real(gpus, 0);
        trust.timed_share = maybe_real(gpus, 1);
        trust.windows = gpus.maybe(2);
        trust.calibrated_ns = gpus.maybe(3);
        trust.latency_ns = gpus.maybe(4);
        trust.steps_coverage = maybe_real(gpus, 5);
    }
    Query ranks = run.prepare(kCosts);
    if (ranks.step()) {
        trust.clock_error_ns = ranks.maybe(0);
        trust.own_cost_share = maybe_real(ranks, 1);
        trust.budget = maybe_real(ranks, 2);
        trust.writer_share = maybe_real(ranks, 3);
        trust.processes = ranks.number(4);
        trust.most_cost_share = maybe_real(ranks, 5);
    }
    Query level = run.prepare(
        "SELECT level FROM (SELECT level FROM gpu WHERE gpu_id NOT IN (SELECT gpu_id FROM v_unused_gpu) "
        "UNION "
        "SELECT level FROM rank"
        " WHERE NOT EXISTS (SELECT 1 FROM gpu)) WHERE level IS NOT NULL"
        " ORDER BY CASE level WHEN 'host' THEN 0 WHEN 'events' THEN 1 ELSE 2 END, level");
    trust.level = level.step() ? level.text(0) : "host";
    return trust;
}

std::string source_of_times(const std::string& level) {
    if (level == "kineto") return "PyTorch's profiler (Kineto)";
    if (level == "xplane") return "TensorFlow's or JAX's profiler (XPlane)";
    return level == "nsys" ? "Nsight Systems" : level;
}

}  // namespace gpushim::analysis
