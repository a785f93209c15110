// How many floating-point operations of the model each GPU does in a second, and what share of the most that
// it can do (MFU): where somebody told what a sample takes, and of matrix products that were recorded.
#include <cmath>
#include <set>

#include "../text/units.h"
#include "facts.h"
#include "product_rate.h"
#include "section.h"
#include "step_figures.h"

namespace gpushim::analysis::section_flops {

namespace {

constexpr size_t kIndent = 11;

struct Peaks {  // of the GPUs that ran kernels
    int64_t gpus = 0, known = 0;
    double sum_flops_per_s = 0;
    std::optional<double> precision_share;  // the smallest
    std::set<std::string> precisions, names;
    std::string why;
};

struct Figures {
    std::optional<double> flops_per_sample, tflops, peak_tflops, mfu;
    std::string from = {}, why_no_flops = {}, why_no_share = {};
};

Peaks peaks_of(const ReportSource& source) {
    Peaks all;
    Query row = source.run.prepare(
        "SELECT p.peak_flops_per_s, p.precision, p.precision_share, p.why, g.name FROM gpu_peak p"
        " LEFT JOIN gpu g ON g.gpu_id = p.gpu_id ORDER BY p.gpu_id");
    for (; row.step(); ++all.gpus) {
        if (!row.text(4).empty()) all.names.insert(row.text(4));
        if (!row.is_null(1)) all.precisions.insert(row.text(1));
        if (const auto share = maybe_real(row, 2))
            all.precision_share = std::min(all.precision_share.value_or(1), *share);
        if (row.is_null(0)) {
            all.why = row.text(3);
        } else {
            ++all.known;
            all.sum_flops_per_s += row.real(0);
        }
    }
    return all;
}

// Options win over what the run was analysed with; what is said of operations over what is said of tokens.
void read_flops_per_sample(const ReportSource& source, Figures& figures) {
    const ReportOptions& asked = source.options;
    const auto params = asked.params ? asked.params : source.number("params");
    const auto told = source.number("flops_per_sample"), counted = source.number("tokens_per_sample");
    const auto flops = asked.flops_per_sample    ? asked.flops_per_sample
                       : asked.tokens_per_sample ? std::nullopt
                                                 : told;
    const auto tokens = asked.tokens_per_sample ? asked.tokens_per_sample : counted;
    if (flops) {
        figures.flops_per_sample = static_cast<double>(*flops);
        figures.from = "--flops-per-sample";
    } else if (tokens && params) {
        figures.flops_per_sample = 6 * static_cast<double>(*params) * static_cast<double>(*tokens);
        figures.from = "6 x " + count_text(*params) + " parameters x " + count_text(*tokens) + " tokens";
    } else if (tokens) {
        figures.why_no_flops = "--tokens-per-sample needs --params, too";
    } else {
        figures.why_no_flops = "--flops-per-sample, or --params and --tokens-per-sample, was not given";
    }
}

// Samples are those of all ranks, so all GPUs have to be here.
std::string why_not_known(const ReportSource& source, const ShownSteps& steps, const Peaks& peaks) {
    if (!steps.median_ns) return "no steps were found";
    if (!steps.samples_per_s())
        return "the number of samples in a step is not known: give --samples-per-step";
    if (source.number("ranks_seen").value_or(0) < source.number("ranks_expected").value_or(0))
        return "ranks are missing: how many GPUs there were is not known";
    return peaks.gpus == 0 ? "no GPU ran kernels" : "";
}

Figures figures_of(const ReportSource& source, const Peaks& peaks) {
    Figures figures;
    read_flops_per_sample(source, figures);
    const ShownSteps& steps = step_figures(source);
    if (figures.why_no_flops.empty()) figures.why_no_flops = why_not_known(source, steps, peaks);
    const auto gpus = static_cast<double>(peaks.gpus);
    if (peaks.gpus > 0 && peaks.known == peaks.gpus)
        figures.peak_tflops = peaks.sum_flops_per_s / gpus / 1e12;
    if (figures.why_no_flops.empty())
        figures.tflops = *figures.flops_per_sample * *steps.samples_per_s() / gpus / 1e12;
    if (figures.tflops && figures.peak_tflops) figures.mfu = *figures.tflops / *figures.peak_tflops;
    figures.why_no_share = figures.why_no_flops.empty() ? peaks.why : figures.why_no_flops;
    return figures;
}

std::string one_of(const std::set<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
    return text;
}

std::string amount_text(double tflops) { return figure_text(tflops < 1 ? "%.2g" : "%.3g", tflops); }

// " of 312 (A100-SXM4-80GB, dense bf16: 93 % of the time of timed matrix products, by name)"; empty: not
// known.
std::string peak_text(const Figures& figures, const Peaks& peaks) {
    if (!figures.peak_tflops) return "";
    const std::string of_what = peaks.precision_share
                                    ? shares_text(*peaks.precision_share, *peaks.precision_share) +
                                          " of the time of timed matrix products"
                                    : "all matrix products, of which none has device times";
    return " of " + amount_text(*figures.peak_tflops) + " (" + shown(one_of(peaks.names)) + ", dense " +
           one_of(peaks.precisions) + ": " + of_what + ", by name)";
}

// "41.2 TFLOP/s per GPU, MFU 13.2 % of 312 (A100-SXM4-80GB, dense bf16: 93 % of the time of timed matrix
// products, by name); a sample takes …"
std::string text_of(const Figures& figures, const Peaks& peaks) {
    const std::string of_sample = figures.from.empty() ? "" : "; a sample takes " + figures.from;
    if (!figures.tflops) return "not known: " + figures.why_no_flops;
    const std::string rate = amount_text(*figures.tflops) + " TFLOP/s per GPU, ";
    if (!figures.mfu) return rate + "MFU not known: " + figures.why_no_share + of_sample;
    std::string text = rate + "MFU " + percent_text(*figures.mfu) + peak_text(figures, peaks);
    if (*figures.mfu > 1) text += "; no GPU does more than it can: check what a sample takes";
    return text + of_sample;
}

void write(const ReportSource& source, Report& report) {
    const Peaks peaks = peaks_of(source);
    const Figures figures = figures_of(source, peaks);
    const bool is_asked =
        figures.flops_per_sample || source.options.tokens_per_sample || source.number("tokens_per_sample");
    const ProductRate products = product_rate(source);
    if (is_asked) report.paragraph("FLOPS      " + text_of(figures, peaks), kIndent);
    // The peak once.
    const std::string of_products = products.text(is_asked && figures.mfu ? "" : peak_text(figures, peaks));
    if (!of_products.empty())
        report.paragraph((is_asked ? std::string(kIndent, ' ') : "FLOPS      ") + of_products, kIndent);
    const auto precision = peaks.precisions.empty() ? std::nullopt : std::optional(one_of(peaks.precisions));
    const std::string no_peak = peaks.gpus == 0 ? "no GPU ran kernels" : peaks.why;
    Facts facts;
    facts.maybe("flops_per_sample", figures.flops_per_sample, figures.why_no_flops)
        .known("gpus", peaks.gpus)
        .maybe("tflops_per_gpu", figures.tflops, figures.why_no_flops)
        .maybe("mfu", figures.mfu, figures.why_no_share.empty() ? no_peak : figures.why_no_share)
        .maybe("peak_tflops_per_gpu", figures.peak_tflops, no_peak)
        .maybe("precision", precision, no_peak)
        .maybe("precision_share", peaks.precision_share,
               precision ? "no matrix product has device times: all are of this precision" : no_peak);
    products.tell(facts);
    report.json.set("flops", facts.json());
}

constexpr Section kSection = {"flops", write};
const SectionRegistration kRegistration(kSection);

}  // namespace

}  // namespace gpushim::analysis::section_flops
