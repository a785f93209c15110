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
};

std::map<int64_t, GpuWork> work_of(const RunDb& run) {
    std::map<int64_t, GpuWork> all;
    Query row(run.raw(), "run",
              "SELECT coalesce(s.shared_id, g.gpu_id), g.name, coalesce(k.precision, 'unknown'),"
              " sum(CASE WHEN k.eligible = 1 THEN coalesce(k.sum_ns, 0) ELSE 0 END)"
              " FROM kernel k JOIN gpu g ON g.gpu_id = k.gpu_id LEFT JOIN shared_gpu s ON s.gpu_id = g.gpu_id"
              " GROUP BY 1, 3 ORDER BY 1, 3");
    while (row.step()) {
        GpuWork& gpu = all[row.number(0)];
        if (!row.is_null(1)) gpu.name = row.text(1);
        gpu.eligible_ns += row.real(3);
        gpu.by_type[row.text(2)] += row.real(3);
    }
    return all;
}

struct GpuPeak {
    std::optional<Precision> precision = {};
    std::optional<double> share = {}, flops_per_s = {};
    std::string why = {};
};

GpuPeak peak_of(const GpuWork& gpu) {
    if (gpu.eligible_ns <= 0) return {.why = "no matrix product or convolution has device times"};
    const std::pair<const std::string, double>* most = nullptr;
    for (const auto& type : gpu.by_type)
        if (most == nullptr || type.second > most->second) most = &type;
    const auto precision = precision_named(most->first);
    if (!precision || *precision == Precision::unknown || *precision == Precision::mixed)
        return {.why = "the names of the kernels that take most time do not tell their precision"};
    GpuPeak peak = {precision, most->second / gpu.eligible_ns, peak_flops_per_s(gpu.name, *precision)};
    if (!peak.flops_per_s)
        peak.why = is_peak_known(gpu.name) ? "the peak of this GPU in this precision is not known"
                                           : "the peak of a GPU of this name is not known";
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
