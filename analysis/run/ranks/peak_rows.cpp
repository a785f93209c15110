#include "peak_rows.h"

#include <map>
#include <optional>
#include <string>

#include "../../kernel/peak.h"
#include "../sql/run_db.h"

namespace gpushim::analysis {

namespace {

struct GpuWork {
    std::string name;
    double eligible_ns = 0;                 // time of matrix products and convolutions
    std::map<std::string, double> by_type;  // of that, by what is said of precision
    // Launches of such kernels; of these, by kernels that ran in graphs and were never timed.
    int64_t eligible = 0;
    std::map<std::string, int64_t> eligible_by_type, untimed_by_type;
};

constexpr double kFew = 0.1;  // of all launches: so many may be of another precision, without times

std::map<int64_t, GpuWork> work_of(const RunDb& run) {
    std::map<int64_t, GpuWork> all;
    Query row(run.raw(), "run",
              "SELECT coalesce(s.shared_id, g.gpu_id), g.name, coalesce(k.precision, 'unknown'),"
              " sum(CASE WHEN k.eligible = 1 AND k.timed > 0 THEN"
              " k.sum_ns * 1.0 / k.timed * (k.launches + coalesce(k.graph_launches, 0)) ELSE 0 END),"
              " sum(CASE WHEN k.eligible = 1 THEN k.launches + coalesce(k.graph_launches, 0) ELSE 0 END),"
              " sum(CASE WHEN k.eligible = 1 AND coalesce(k.timed, 0) = 0 AND k.graph_launches > 0"
              " THEN k.launches + k.graph_launches ELSE 0 END)"
              " FROM kernel k JOIN gpu g ON g.gpu_id = k.gpu_id LEFT JOIN shared_gpu s ON s.gpu_id = g.gpu_id"
              " WHERE g.unused IS NULL GROUP BY 1, 3 ORDER BY 1, 3");
    while (row.step()) {
        GpuWork& gpu = all[row.number(0)];
        if (!row.is_null(1)) gpu.name = row.text(1);
        gpu.eligible_ns += row.real(3);
        gpu.by_type[row.text(2)] += row.real(3);
        gpu.eligible += row.number(4);
        if (row.number(4) > 0) gpu.eligible_by_type[row.text(2)] += row.number(4);
        if (row.number(5) > 0) gpu.untimed_by_type[row.text(2)] += row.number(5);
    }
    return all;
}

struct GpuPeak {
    std::optional<Precision> precision = {};
    std::optional<double> share = {}, flops_per_s = {};
    std::string why = {};
};

bool are_of_others(const GpuWork& gpu, const std::string& type) {
    int64_t others = 0;
    for (const auto& [other, launches] : gpu.untimed_by_type)
        if (other != type) others += launches;
    return static_cast<double>(others) > kFew * static_cast<double>(gpu.eligible);
}

// Without device times it is known where all are of one.
GpuPeak peak_of(const GpuWork& gpu) {
    const bool is_timed = gpu.eligible_ns > 0;
    if (!is_timed && (gpu.untimed_by_type.empty() || gpu.eligible_by_type.size() != 1))
        return {.why = "no matrix product or convolution has device times"};
    const std::pair<const std::string, double>* most = nullptr;
    for (const auto& type : gpu.by_type)
        if (most == nullptr || type.second > most->second) most = &type;
    const std::string type = is_timed ? most->first : gpu.eligible_by_type.begin()->first;
    const auto precision = precision_named(type);
    if (!precision || *precision == Precision::unknown || *precision == Precision::mixed)
        return {.why = "the names of the kernels that take most time do not tell their precision"};
    if (are_of_others(gpu, type))
        return {.why = "matrix products in graphs have no device times, and are of another precision"};
    GpuPeak peak = {precision, {}, peak_flops_per_s(gpu.name, *precision)};
    if (is_timed) peak.share = most->second / gpu.eligible_ns;
    if (!peak.flops_per_s) peak.why = why_no_peak(gpu.name);
    return peak;
}

}  // namespace

void write_peaks(RunDb& run) {
    for (const auto& [gpu_id, work] : work_of(run)) {
        const GpuPeak peak = peak_of(work);
        run.add("gpu_peak",
                {gpu_id, peak.precision ? Value(std::string(name_of(*peak.precision))) : Value(nullptr),
                 maybe(peak.share), maybe(peak.flops_per_s),
                 peak.why.empty() ? Value(nullptr) : Value(peak.why)});
    }
}

}  // namespace gpushim::analysis
