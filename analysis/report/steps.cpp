// How long a step takes, how many there were, and how many samples a second that is.
#include <cstdio>

#include "../advice/unlike_sample.h"
#include "../step/steps.h"
#include "../text/units.h"
#include "facts.h"
#include "hang.h"
#include "section.h"
#include "step_figures.h"

namespace gpushim::analysis::section_steps {

namespace {

constexpr size_t kIndent = 11;

std::string basis_text(const ShownSteps& steps, const ReportSource& source) {
    const std::string sure = steps.confidence ? ", " + sure_text(*steps.confidence) : "";
    const int64_t left_out = steps.left_out.value_or(0) - steps.no_update_count.value_or(0);
    return "steps " + std::to_string(*steps.first) + "-" + std::to_string(*steps.last) + " (" +
           count_text(steps.count) + (left_out > 0 ? "; " + count_text(left_out) + " left out" : "") +
           "; by " + (steps.anchor.empty() ? steps.source : source.name("anchor", steps.anchor)) + sure + ")";
}

// What the figures of steps are not of.
std::string place_text(const ShownSteps& steps) {
    char share[16];
    std::snprintf(share, sizeof share, "%.0f %%", 100 * *steps.run_share);
    return "they take " + duration_text(static_cast<double>(*steps.span_ns)) + ", " + share +
           " of the run, from " + duration_text(static_cast<double>(*steps.before_ns)) +
           " on; the rest of it is in no figure of a step";
}

std::string no_update_text(const ShownSteps& steps) {
    const int64_t count = *steps.no_update_count;
    return count_text(count) + (count == 1 ? " stretch, " : " stretches, ") +
           duration_text(static_cast<double>(*steps.no_update_ns)) + " in all, " +
           (count == 1 ? "updates" : "update") + " no parameters (evaluations, or the like) and " +
           (count == 1 ? "is no step" : "are no steps");
}

// A start-up may be most of a short run, and is in no figure of a step.
std::string warm_up_text(const ShownSteps& steps) {
    const int64_t count = *steps.warm_up_count;
    const double share = static_cast<double>(*steps.warm_up_ns) / static_cast<double>(*steps.span_ns);
    char percent[16];
    std::snprintf(percent, sizeof percent, "%.0f %%", 100 * share);
    return (count == 1 ? "a step of the start takes " : count_text(count) + " steps of the start take ") +
           duration_text(static_cast<double>(*steps.warm_up_ns)) + ", " + percent +
           " of the time of all steps, and " + (count == 1 ? "is" : "are") + " in no figure of a step";
}

bool is_long_warm_up(const ShownSteps& steps) {
    constexpr double kMuch = 0.5;
    return steps.warm_up_ns && steps.span_ns && *steps.span_ns > 0 &&
           static_cast<double>(*steps.warm_up_ns) >= kMuch * static_cast<double>(*steps.span_ns);
}

std::string trend_text(const ShownSteps& steps) {
    const bool longer = *steps.last_quarter_ns > *steps.first_quarter_ns;
    return std::string("they become ") + (longer ? "longer" : "shorter") + ": " +
           duration_text(static_cast<double>(*steps.first_quarter_ns)) + " in the first quarter of them, " +
           duration_text(static_cast<double>(*steps.last_quarter_ns)) + " in the last (medians)";
}

void write_text(const ShownSteps& steps, const ReportSource& source, Report& report) {
    if (!steps.median_ns) {
        const int64_t left_out = steps.left_out.value_or(0);
        report.line("STEPS      " +
                    (left_out == 0 ? "no steps found"
                                   : "no step counts: " + count_text(left_out) +
                                         " left out (warm-up, or without an end)") +
                    "; the figures below are of " + steps.span_text());
        if (const auto unlike = unlike_sample(source.run.raw()))
            report.paragraph("           but GPU and IDLE: " + unlike->text(), kIndent);
        if (!steps.why.empty() && !source.options.redact) report.line("           " + steps.why);
        return;
    }
    const auto median_ns = static_cast<double>(*steps.median_ns);
    // Who asks for a range compares it with another tool's mean of the same.
    const std::string mean = source.is_part_of_run() || steps.is_uneven()
                                 ? ", " + duration_text(static_cast<double>(*steps.mean_ns)) + " mean"
                                 : "";
    report.line("STEPS      " + duration_text(median_ns) + " median, " +
                duration_text(static_cast<double>(*steps.p95_ns)) + " p95" + mean +
                (hang_of(source) ? "   until nothing moved any more" : ""));
    report.line("           " + basis_text(steps, source));
    if (steps.host_ahead)
        report.paragraph(
            "           the host is ahead of the GPU: what most steps launch runs in those in which the host "
            "waits,"
            " so only the mean is how long a step takes" +
                (steps.ahead_work_ns
                     ? "; it is too short here, for GPUs worked on behind the last one: kernels of a step "
                       "take "
                       "them " +
                           duration_text(static_cast<double>(*steps.ahead_work_ns)) + " together"
                     : std::string()),
            kIndent);
    if (steps.is_trend) report.paragraph("           " + trend_text(steps), kIndent);
    if (is_long_warm_up(steps) && !source.is_part_of_run())
        report.paragraph("           " + warm_up_text(steps), kIndent);
    if (steps.why.starts_with(kByReads)) report.paragraph("           " + steps.why, kIndent);
    constexpr double kSmallPart = 0.5;
    if (steps.run_share.value_or(1) < kSmallPart && !source.is_part_of_run())
        report.line("           " + place_text(steps));
    if (steps.no_update_count && !source.is_part_of_run()) report.line("           " + no_update_text(steps));
    constexpr double kWorthSaying = 0.01;
    if (steps.undisturbed_ns && !steps.host_ahead &&
        static_cast<double>(*steps.undisturbed_ns) < (1 - kWorthSaying) * median_ns)
        report.line("           " + duration_text(static_cast<double>(*steps.undisturbed_ns)) +
                    " without our events, as are GPU and IDLE below");
    if (source.is_part_of_run())
        report.line(
            "           VERDICT, STEP, STEPS, SERVING, PHASES, GPU, SHARES, IDLE: these; all else is of the "
            "whole run");
}

void write(const ReportSource& source, Report& report) {
    const ShownSteps& steps = step_figures(source);
    write_text(steps, source, report);
    const std::string none = !steps.why.empty() && !source.options.redact ? steps.why : "no steps were found";
    const std::string no_place = steps.median_ns ? "when the run began and ended is not recorded" : none;
    const std::string no_update =
        steps.median_ns ? "no stretch between steps is known to update no parameters" : none;
    const char* const no_quarters = "fewer than 40 steps count, or the host is ahead of the GPU";
    const auto anchor =
        steps.anchor.empty() ? std::nullopt : std::optional(source.json_name("anchor", steps.anchor));
    report.json.set(
        "steps",
        Facts()
            .known("count", steps.count)
            .maybe("first", steps.first, none)
            .maybe("last", steps.last, none)
            .maybe("left_out", steps.left_out, none)
            .maybe("no_update_count", steps.no_update_count, no_update)
            .maybe("no_update_ns", steps.no_update_ns, no_update)
            .maybe("median_ns", steps.median_ns, none)
            .maybe("p95_ns", steps.p95_ns, none)
            .maybe("mean_ns", steps.mean_ns, none)
            .known("host_ahead", steps.host_ahead)
            .maybe("warm_up_ns", steps.warm_up_ns, steps.median_ns ? "no step was left out as a start" : none)
            .maybe("first_quarter_median_ns", steps.first_quarter_ns, steps.median_ns ? no_quarters : none)
            .maybe("last_quarter_median_ns", steps.last_quarter_ns, steps.median_ns ? no_quarters : none)
            .maybe("undisturbed_median_ns", steps.undisturbed_ns,
                   steps.median_ns ? "no step was timed as a whole" : none)
            .maybe("span_ns", steps.span_ns, no_place)
            .maybe("before_ns", steps.before_ns, no_place)
            .maybe("run_share", steps.run_share, no_place)
            .maybe("samples_per_s", steps.samples_per_s(),
                   steps.median_ns ? "the number of samples in a step is not known: give --samples-per-step"
                                   : none)
            .maybe("anchor", anchor, none)
            .maybe("confidence", steps.confidence, none)
            .known("source", steps.source)
            .json());
}

constexpr Section kSection = {"steps", write};
const SectionRegistration kRegistration(kSection);

}  // namespace

}  // namespace gpushim::analysis::section_steps
