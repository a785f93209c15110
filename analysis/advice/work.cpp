#include "work.h"

#include <algorithm>

#include "../kernel/short_name.h"
#include "../text/units.h"

namespace gpushim::analysis {

namespace {

struct NamedFactor {
    std::string_view name;
    Factor share;
};
constexpr NamedFactor kFactors[] = {
#define FACTOR(name, low, high, source) {#name, {low, high}},
#include "factors.def"
#undef FACTOR
};

constexpr size_t kMostEvidence = 3;
// More than that of their time may be a wait in front of them, or another one's: then both ends are said.
constexpr double kUnsure = 0.1;

std::string text_between(double low_ns, double high_ns) {
    if (low_ns <= 0 && high_ns > 0) return "up to " + duration_text(high_ns);
    return low_ns < (1 - kUnsure) * high_ns ? duration_text(low_ns) + " to " + duration_text(high_ns)
                                            : duration_text(high_ns);
}

// Rows: gpu_id, ns of those that were timed, how many those are, how many there are in all, bytes of these,
// rowid, name, by how much ns may be too long. What was timed stands for the rest; where nothing was, it has
// no time.
Work work_of(const Situation& run, Query rows, const char* table) {
    Work work;
    std::map<int64_t, double> count, bytes;
    double largest_ns = 0;
    while (rows.step()) {
        const double share = rows.number(2) > 0 ? rows.real(3) / rows.real(2) : 0;
        const double ns = run.counted(rows.real(1) * share);
        work.ns_by_gpu[rows.number(0)] += ns;
        work.unsure_by_gpu[rows.number(0)] += run.counted(rows.real(7) * share);
        count[rows.number(0)] += run.counted(rows.real(3));
        bytes[rows.number(0)] += run.counted(rows.real(4));
        if (work.evidence.size() < kMostEvidence) work.evidence.push_back({table, rows.number(5)});
        if (ns > largest_ns) {
            largest_ns = ns;
            work.largest = cut_short_name(rows.text(6));
        }
    }
    for (const auto& [gpu, ns] : work.ns_by_gpu)
        if (ns >= work.ns) {
            work.ns = ns;
            work.unsure_ns = work.unsure_by_gpu[gpu];
            work.count = count[gpu];
            work.bytes = bytes[gpu];
        }
    return work;
}

}  // namespace

Factor factor(std::string_view name) {
    for (const NamedFactor& one : kFactors)
        if (one.name == name) return one.share;
    return {0, 0};  // a rule's tests see that nothing is gained
}

std::string Work::text() const { return text_between(std::max(0.0, ns - unsure_ns), ns); }

std::string Work::text_of_each() const {
    return text_between(std::max(0.0, ns - unsure_ns) / count, ns / count);
}

Gain Work::shorter_by(const Factor& share, const Situation& run) const {
    std::map<int64_t, Gain> less;
    for (const auto& [gpu, its_ns] : ns_by_gpu) {
        const auto unsure = unsure_by_gpu.find(gpu);
        const double less_ns = unsure == unsure_by_gpu.end() ? 0 : unsure->second;
        less[gpu] = {std::max(0.0, its_ns - less_ns) * share.low, its_ns * share.high};
    }
    return run.what_if().shorter(less);
}

Work kernels_where(const Situation& run, const std::string& where) {
    return work_of(run,
                   run.ask("SELECT k.gpu_id, w.timed_ns, w.timed, w.executed, 0, k.rowid,"
                           " k.name, CASE WHEN w.is_guessed THEN w.timed_ns"
                           " ELSE coalesce(k.unsure_ns, 0) * 1.0 * w.timed / k.timed END FROM kernel k"
                           " JOIN v_kernel_work w ON w.gpu_id = k.gpu_id AND w.name = k.name"
                           " WHERE k.timed > 0 AND (" +
                           where + ") ORDER BY w.timed_ns DESC, k.rowid"),
                   "kernel");
}

Work copies_where(const Situation& run, const std::string& where) {
    return copies_of_run_where(run, "c.position >= 0 AND (" + where + ")");
}

Work copies_of_run_where(const Situation& run, const std::string& where) {
    return work_of(
        run,
        run.ask("SELECT c.gpu_id, c.blocks_kernels_ns, c.timed, c.count, c.bytes, c.rowid, c.kind, 0"
                " FROM copy_stat c WHERE (" +
                where + ") ORDER BY c.blocks_kernels_ns DESC, c.rowid"),
        "copy_stat");
}

}  // namespace gpushim::analysis
