#include "comparison_report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "../report/facts.h"
#include "../text/units.h"
#include "../to_int64.h"
#include "comparison_json.h"

namespace gpushim::analysis {

namespace {

constexpr size_t kMostChanges = 12, kMostParts = 10, kMostKernels = 8, kMostPredicted = 4;
constexpr double kWorthARow = 0.0005;  // of a step

std::string signed_percent(double share) {
    char text[32];
    std::snprintf(text, sizeof text, std::fabs(share) < 0.00995 ? "%+.2f %%" : "%+.1f %%", 100 * share);
    return text;
}

std::string signed_duration(double ns) {
    return (ns < 0 ? "-" : "+") + duration_text(std::fabs(std::round(ns)));
}

std::string known(const std::optional<double>& value, std::string (*text)(double)) {
    return value ? text(*value) : "not recorded";
}

std::string number_text(double value) {
    char text[32];
    std::snprintf(text, sizeof text, value < 99.95 ? "%.1f" : "%.0f", value);
    return value < 999.5 ? text : count_text(to_int64(value));
}

std::string title_of(Verdict verdict) {
    std::string title = name_of(verdict);
    std::transform(title.begin(), title.end(), title.begin(), [](char c) { return c - 'a' + 'A'; });
    return title;
}

void write_changes(const Comparison& is, Report& report) {
    for (size_t i = 0; i < std::min(is.changes.size(), kMostChanges); ++i)
        report.line((i == 0 ? "CHANGED       " : "              ") + is.changes[i].words());
    if (is.changes.size() > kMostChanges)
        report.line("              and " +
                    count_text(static_cast<int64_t>(is.changes.size() - kMostChanges)) + " more");
    if (is.changes.empty()) report.line("CHANGED       nothing that is known about where they ran");
}

void write_rate(const Side& base, const Comparison& is, Report& report) {
    if (!is.shift || is.shift->base_ns <= 0 || is.shift->new_ns <= 0) return;
    const double before = 1e9 / is.shift->base_ns, after = 1e9 / is.shift->new_ns;
    std::string text = "RATE          ";
    if (base.samples_per_step)
        text += number_text(after * *base.samples_per_step) + " samples/s, was " +
                number_text(before * *base.samples_per_step) + "; ";
    text += number_text(after) + " steps/s, was " + number_text(before) + " (by the medians)";
    if (is.same_samples != 1) text += "; assuming that a step of NEW has as many samples as one of BASE";
    report.line(text);
}

void write_parts(const Comparison& is, Report& report) {
    if (!is.shift) return;
    if (is.parts.empty()) {
        report.line("WHY           not recorded: " + is.why_no_parts);
        return;
    }
    std::vector<std::vector<std::string>> rows = {{"of a step", "was", "is", "change"}};
    for (const PartShift& part : is.parts)
        if (std::fabs(part.shift_ns()) >= kWorthARow * is.shift->base_ns)
            rows.push_back({part.name, duration_text(std::round(part.base_ns)),
                            duration_text(std::round(part.new_ns)), signed_duration(part.shift_ns())});
    if (rows.size() == 1) return;
    report.line(
        "WHY           parts of a step, mean of the middle half with device times; the parts not shown "
        "complete the sum");
    report.table("lrrr", std::move(rows), kMostParts);
}

std::vector<std::string> row_of(const KernelShift& kernel) {
    const auto launches = [](const std::optional<KernelUse>& use) {
        return use ? number_text(use->launches) : std::string("-");
    };
    const auto ns = [](const std::optional<KernelUse>& use) {
        return use ? known(use->ns, duration_text) : std::string("-");
    };
    return {kernel.name,     launches(kernel.base), launches(kernel.now),
            ns(kernel.base), ns(kernel.now),        known(kernel.shift_ns(), signed_duration)};
}

void write_kernels(const Side& base, const Side& now, const Comparison& is, Report& report) {
    std::vector<std::vector<std::string>> rows;
    int64_t added = 0, gone = 0;
    for (const KernelShift& kernel : is.kernels) {
        added += !kernel.base;
        gone += !kernel.now;
        const auto ns = kernel.shift_ns();
        const bool is_long = !ns || !is.shift || std::fabs(*ns) >= kWorthARow * is.shift->base_ns;
        if (is_long) rows.push_back(row_of(kernel));
    }
    const bool by_step = base.launches_per_step && now.launches_per_step;
    std::string text = "KERNELS       " + count_text(added) + " new, " + count_text(gone) + " gone";
    if (by_step)
        text += "; launches a step " + number_text(*now.launches_per_step) + ", was " +
                number_text(*base.launches_per_step);
    report.line(text);
    if (rows.empty()) return;
    rows.insert(rows.begin(),
                by_step
                    ? std::vector<std::string>{"kernel, of a step", "launches", "now", "was", "is", "change"}
                    : std::vector<std::string>{"kernel, of a launch", "", "", "was", "is", "change"});
    report.table("lrrrrr", std::move(rows), kMostKernels);
}

void write_use(const Side& base, const Side& now, Report& report) {
    report.line("USE           busy " + known(now.busy_share, percent_text) + ", was " +
                known(base.busy_share, percent_text) + "; productive " +
                known(now.productive_share, percent_text) + ", was " +
                known(base.productive_share, percent_text));
    const auto joules_text = [](double joules) { return figure_text("%.3g J a step", joules); };
    std::string more;
    if (base.mfu || now.mfu)
        more = "MFU " + known(now.mfu, percent_text) + ", was " + known(base.mfu, percent_text);
    else if (base.product_mfu || now.product_mfu)
        more = "MFU of recorded products " + known(now.product_mfu, percent_text) + ", was " +
               known(base.product_mfu, percent_text);
    if (base.joules_per_step || now.joules_per_step)
        more += (more.empty() ? "" : "; ") + known(now.joules_per_step, joules_text) + ", was " +
                known(base.joules_per_step, joules_text);
    if (!more.empty()) report.line("              " + more);
}

void write_serving(const Side& base, const Side& now, Report& report) {
    if (!base.serving || !now.serving) return;
    const ServingUse &was = *base.serving, &is = *now.serving;
    const auto known_ns = [](const std::optional<int64_t>& ns) {
        return ns ? duration_text(static_cast<double>(*ns)) : "not known";
    };
    std::string change;
    if (is.token_p50_ns && was.token_p50_ns && *was.token_p50_ns > 0)
        change = ": " + signed_percent(static_cast<double>(*is.token_p50_ns - *was.token_p50_ns) /
                                       static_cast<double>(*was.token_p50_ns));
    report.line("TOKENS        " + known_ns(is.token_p50_ns) + " from one to the next (median), was " +
                known_ns(was.token_p50_ns) + change);
    report.line("              p95 " + known_ns(is.token_p95_ns) + ", was " + known_ns(was.token_p95_ns) +
                "; p99 " + known_ns(is.token_p99_ns) + ", was " + known_ns(was.token_p99_ns));
    report.line("SERVING       " + number_text(is.iterations_per_s) + " iterations/s, was " +
                number_text(was.iterations_per_s) + "; prefills " + percent_text(is.prefill_share) +
                " of the time, were " + percent_text(was.prefill_share));
    for (const ServingUse::Kind& kind : is.kinds)
        for (const ServingUse::Kind& before : was.kinds)
            if (before.kind == kind.kind)
                report.line("              " + kind.kind + " " + known_ns(kind.p50_ns) + " median, was " +
                            known_ns(before.p50_ns) + "; " + count_text(kind.iterations) + ", were " +
                            count_text(before.iterations));
}

// What the base was told to do, beside what came; whether it was done is seen by whether it is still found.
void write_predicted(const Side& base, const Side& now, const Comparison& is, Report& report) {
    for (size_t i = 0; i < std::min(base.predicted.size(), kMostPredicted); ++i) {
        const Predicted& one = base.predicted[i];
        const bool is_found = std::any_of(now.predicted.begin(), now.predicted.end(),
                                          [&](const Predicted& p) { return p.finding == one.finding; });
        std::string text = i == 0 ? "PREDICTED     " : "              ";
        text += one.finding + " " + duration_text(one.low_ns) + " to " + duration_text(one.high_ns) +
                " a step: " + (is_found ? "still found" : "not found any more");
        if (i == 0 && is.shift) text += "; the step became " + signed_duration(is.shift->shift_ns());
        report.line(text);
    }
}

}  // namespace

std::string verdict_words(const Comparison& is) {
    if (!is.shift) return is.why;
    const MedianShift& shift = *is.shift;
    const auto of_base = [&](double ns) { return signed_percent(ns / shift.base_ns); };
    std::string text = "step " + duration_text(shift.new_ns) + ", was " + duration_text(shift.base_ns) +
                       ": " + of_base(shift.shift_ns()) +
                       (shift.block == 0 ? " (nine tenths of the steps: " : " (99 %: ") +
                       of_base(shift.low_ns) + " to " + of_base(shift.high_ns) + ")";
    if (is.verdict == Verdict::kInconclusive) return is.why + "; " + text;
    if (const PartShift* cause = is.cause(); cause && is.verdict != Verdict::kSame)
        text += ", because of " + cause->name + ": " + signed_duration(cause->shift_ns());
    return text;
}

void write_comparison(const Side& base, const Side& now, const Comparison& is, Report& report) {
    write_changes(is, report);
    const std::string title = title_of(is.verdict);
    report.paragraph(title + std::string(14 - std::min<size_t>(13, title.size()), ' ') + verdict_words(is),
                     14);
    write_rate(base, is, report);
    write_parts(is, report);
    write_kernels(base, now, is, report);
    write_serving(base, now, report);
    write_use(base, now, report);
    write_predicted(base, now, is, report);
    if (is.shift)
        report.paragraph(
            "COMPARED      " + is.matched + "; threshold " + percent_text(is.threshold) +
                (is.shift->block == 0
                     ? ", few steps that lie far apart"
                     : ", blocks of " + count_text(static_cast<int64_t>(is.shift->block)) + " steps"),
            14);
    report.json = json_of(base, now, is);
}

}  // namespace gpushim::analysis
