// What a step and a sample took of energy, by the counters of the GPUs, and how near to its limit the power
// was.
#include <string>
#include <vector>

#include "../text/units.h"
#include "facts.h"
#include "section.h"
#include "step_figures.h"

namespace gpushim::analysis::section_energy {

namespace {

struct GpuEnergy {
    int64_t gpu_id;
    std::optional<int64_t> rank;
    std::string uuid, why;
    std::optional<double> joules, most_joules, power_w, limit_w;
    bool is_one;  // of those that ran kernels; processes that share a GPU are one
};

struct Sums {
    double joules = 0, most_joules = 0, power_w = 0, limit_w = 0;
    int64_t gpus = 0, known = 0, bounded = 0, limited = 0;
    std::string why;
};

std::vector<GpuEnergy> energy_of(const Database& run) {
    std::vector<GpuEnergy> all;
    Query row = run.prepare(
        "SELECT e.gpu_id, r.rank, g.uuid, e.why, e.joules_per_step, e.power_w, e.power_limit_w, p.gpu_id,"
        " e.joules_per_step_high FROM v_gpu_energy e JOIN gpu g ON g.gpu_id = e.gpu_id"
        " JOIN rank r ON r.rank_id = g.rank_id"
        " LEFT JOIN gpu_peak p ON p.gpu_id = e.gpu_id ORDER BY e.gpu_id");
    while (row.step())
        all.push_back({row.number(0), row.maybe(1), row.text(2), row.text(3), maybe_real(row, 4),
                       maybe_real(row, 8), maybe_real(row, 5), maybe_real(row, 6), !row.is_null(7)});
    return all;
}

Sums sums_of(const std::vector<GpuEnergy>& all) {
    Sums sums;
    for (const GpuEnergy& gpu : all) {
        if (!gpu.is_one) continue;
        ++sums.gpus;
        if (!gpu.joules) {
            sums.why = gpu.why;
            sums.bounded += gpu.most_joules.has_value();
            sums.most_joules += gpu.most_joules.value_or(0);
            continue;
        }
        ++sums.known;
        sums.joules += *gpu.joules;
        sums.power_w += gpu.power_w.value_or(0);
        sums.limited += gpu.limit_w.has_value();
        sums.limit_w += gpu.limit_w.value_or(0);
    }
    if (sums.gpus == 0) sums.why = "no GPU ran kernels";
    return sums;
}

// Samples are those of all ranks, so all GPUs have to be here, each with its energy.
std::string why_not_of_sample(const ReportSource& source, const ShownSteps& steps, const Sums& sums) {
    if (sums.known < sums.gpus || sums.gpus == 0) return sums.why;
    if (!steps.samples) return "the number of samples in a step is not known: give --samples-per-step";
    if (source.number("ranks_seen").value_or(0) < source.number("ranks_expected").value_or(0))
        return "ranks are missing: how many GPUs there were is not known";
    return "";
}

std::string each_of(int64_t gpus) {
    return gpus > 1 ? " on each GPU (mean of " + count_text(gpus) + ")" : "";
}

void write_bound(const Sums& sums, bool all, Report& report) {
    if (sums.bounded > 0)
        report.line("ENERGY     at most " +
                    figure_text("%.3g J a step", sums.most_joules / static_cast<double>(sums.bounded)) +
                    each_of(sums.bounded) + ", by samples of NVML around the steps");
    else if (all)
        report.line("ENERGY     " + sums.why);
}

void write_text(const Sums& sums, const std::optional<double>& of_sample, bool all, Report& report) {
    if (sums.known == 0) return write_bound(sums, all, report);
    const auto gpus = static_cast<double>(sums.known);
    std::string text = "ENERGY     " + figure_text("%.3g J a step", sums.joules / gpus) + each_of(sums.known);
    if (sums.known < sums.gpus) text += ", of " + count_text(sums.gpus - sums.known) + " not known";
    if (of_sample) text += ", " + figure_text("%.3g J a sample", *of_sample);
    text += "; " + figure_text("%.0f W", sums.power_w / gpus);
    if (sums.limited == sums.known) text += figure_text(" of at most %.0f W", sums.limit_w / gpus);
    report.line(text);
}

Json json_of(const GpuEnergy& gpu) {
    const char* const no_limit = "NVML told no limit";
    return Facts()
        .maybe("rank", gpu.rank, "not recorded")
        .known("gpu", gpu.uuid)
        .maybe("joules_per_step", gpu.joules, gpu.why)
        .maybe("joules_per_step_high", gpu.most_joules, gpu.joules ? "joules_per_step is measured" : gpu.why)
        .maybe("power_w", gpu.power_w, gpu.why)
        .maybe("power_limit_w", gpu.limit_w, no_limit)
        .json();
}

void write(const ReportSource& source, Report& report) {
    const std::vector<GpuEnergy> all = energy_of(source.run);
    const Sums sums = sums_of(all);
    const ShownSteps& steps = step_figures(source);
    const std::string why = why_not_of_sample(source, steps, sums);
    const auto of_sample = why.empty() ? std::optional(sums.joules / *steps.samples) : std::nullopt;
    write_text(sums, of_sample, source.options.all, report);
    Json gpus = Json::array();
    for (const GpuEnergy& gpu : all) gpus.push(json_of(gpu));
    report.json.set("energy",
                    Facts().maybe("joules_per_sample", of_sample, why).known("gpus", std::move(gpus)).json());
}

constexpr Section kSection = {"energy", write};
const SectionRegistration kRegistration(kSection);

}  // namespace

}  // namespace gpushim::analysis::section_energy
