// How far the figures can be trusted: what has device times, in how much of the run, how sure they are, and
// what getting them has cost. Of several ranks the worst. Where traces are there, more is in trust_rows.
#include "../text/units.h"
#include "facts.h"
#include "section.h"
#include "trust_figures.h"
#include "trust_rows.h"

namespace gpushim::analysis::section_trust {

namespace {

std::string level_text(const TrustFigures& trust, bool rows_gone) {
    if (trust.level == "host" && !trust.windows)
        return "host times only: how long the GPU worked is not recorded";
    return "device times by " +
           (trust.level == "host" ? "events, not on all GPUs" : source_of_times(trust.level)) + ": " +
           (trust.windows ? (rows_gone ? "at least " : "") + count_text(*trust.windows) +
                                (*trust.windows == 1 ? " window, " : " windows, ")
                          : "") +
           (trust.timed_share ? percent_text(*trust.timed_share) + " of the run" : "share not recorded") +
           (trust.coverage ? ", " + percent_text(*trust.coverage) + " of the operations in that time" : "") +
           (trust.steps_coverage ? ", " + percent_text(*trust.steps_coverage) + " of those in steps" : "");
}

std::string clock_text(const TrustFigures& trust) {
    return (trust.clock_error_ns ? "clock ±" + duration_text(static_cast<double>(*trust.clock_error_ns))
                                 : "clock error not recorded") +
           "; launch latency " +
           (trust.latency_ns ? duration_text(static_cast<double>(*trust.latency_ns)) +
                                   (trust.is_calibrated ? "" : ", not calibrated")
                             : "was not calibrated");
}

void write_cost(const TrustFigures& trust, Report& report) {
    if (!trust.own_cost_share) return;
    const std::string share = percent_text(*trust.own_cost_share);
    const std::string most = trust.most_cost_share ? percent_text(*trust.most_cost_share) : share;
    const bool are_several = trust.processes > 1;
    report.line(
        "        own cost " + share + " of the busiest thread's time" +
        (are_several ? ", mean of " + count_text(trust.processes) + " processes" : "") +
        (are_several && most != share ? ", at most " + most : "") +
        (trust.budget ? " (budget " + percent_text(*trust.budget) + ")" : "") +
        (trust.writer_share ? "; the writer took " + percent_text(*trust.writer_share) + " of a core" : ""));
}

void write(const ReportSource& source, Report& report) {
    TrustFigures trust = trust_figures(source.run);
    const TrustRows rows = source.traces != nullptr ? trust_rows_of(*source.traces) : TrustRows();
    trust.is_calibrated = rows.has_latency && trust.calibrated_ns;
    if (trust.is_calibrated) trust.latency_ns = trust.calibrated_ns;
    if (source.options.all) {
        report.line("trust   " + level_text(trust, rows.rows_gone));
        report.line("        " + clock_text(trust));
        write_cost(trust, report);
    }
    const char* const none = trust.level == "host" ? "device times are not recorded" : "not recorded";
    Facts facts;
    facts.known("level", trust.level)
        .maybe("coverage", trust.coverage, none)
        .maybe("steps_coverage", trust.steps_coverage, "no step was timed as a whole")
        .maybe("timed_share", trust.timed_share, none)
        .maybe("windows", trust.windows, none)
        .maybe("clock_error_ns", trust.clock_error_ns, none)
        .maybe("own_cost_share", trust.own_cost_share, "the traces do not say what they cost")
        .maybe("budget", trust.budget, "the traces do not say what they cost")
        .maybe("latency_ns", trust.latency_ns, "was not calibrated, and few launches found the GPU empty");
    if (source.traces != nullptr) write_trust_rows(rows, source.options.all, report, facts);
    report.json.set("trust", facts.json());
}

constexpr Section kSection = {"trust", write};
const SectionRegistration kRegistration(kSection);

}  // namespace

}  // namespace gpushim::analysis::section_trust
