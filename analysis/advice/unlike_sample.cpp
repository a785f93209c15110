#include "unlike_sample.h"

#include <algorithm>
#include <cstdio>

#include "../sqlite/database.h"
#include "../trace/work_bound.h"

namespace gpushim::analysis {

namespace {

constexpr double kUnlike = 2;      // times as many, or as few
constexpr double kFewTimed = 0.5;  // of the run; from here on the rest cannot outweigh it
constexpr double kFewest = 30;     // operations in windows, or as many expected: fewer are chance

constexpr const char* kRates =
    "SELECT g.timed_share, 1e6 * t.operations / t.window_ns, 1e6 * s.operations / g.run_ns,"
    " max(t.operations, g.timed_share * s.operations)"
    " FROM gpu g JOIN (SELECT b.gpu_id, sum(p.operations) AS operations, sum(p.window_ns) AS window_ns"
    "   FROM v_gpu_basis b JOIN gpu_step p ON p.gpu_id = b.gpu_id AND p.step = b.step"
    "   WHERE b.basis = 'spans' GROUP BY b.gpu_id) t ON t.gpu_id = g.gpu_id"
    " JOIN rank r ON r.rank_id = g.rank_id AND coalesce(r.steps_source, 'none') = 'none'"
    " JOIN (SELECT gpu_id, sum(coalesce(launches, 0) + coalesce(copies, 0) + coalesce(memsets, 0)"
    "   + coalesce(graphs, 0)) AS operations FROM stream_stat GROUP BY gpu_id) s ON s.gpu_id = g.gpu_id"
    " WHERE t.window_ns > 0 AND g.run_ns > 0 AND s.operations > 0 AND t.operations IS NOT NULL";
constexpr const char* kSteps = "SELECT 1 FROM rank WHERE coalesce(steps_source, 'none') <> 'none'";

double times_apart(const UnlikeSample& sample) {
    const double least = std::min(sample.timed_per_ms, sample.run_per_ms);
    return std::max(sample.timed_per_ms, sample.run_per_ms) / std::max(least, 1e-9);
}

}  // namespace

std::string UnlikeSample::text() const {
    char text[160];
    std::snprintf(text, sizeof text,
                  "%.2g %% of the run was timed, and that is not like the rest: %.2g operations a ms were "
                  "launched in it, %.2g in the whole run",
                  100 * timed_share, timed_per_ms, run_per_ms);
    return text;
}

std::optional<UnlikeSample> unlike_sample(sqlite3* run) {
    std::optional<UnlikeSample> most;
    if (Query(run, file_of(run), kSteps).step()) return most;
    Query row(run, file_of(run), kRates);
    while (row.step()) {
        const UnlikeSample one = {row.real(0), row.real(1), row.real(2)};
        if (row.is_null(0) || one.timed_share >= kFewTimed || row.real(3) < kFewest) continue;
        if (times_apart(one) < kUnlike) continue;
        if (!most || times_apart(one) > times_apart(*most)) most = one;
    }
    return most;
}

}  // namespace gpushim::analysis
