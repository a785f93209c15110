// How long a step takes, how many there were, and how many samples a second that is.
#include <cstdio>

#include "../text/units.h"
#include "../to_int64.h"
#include "facts.h"
#include "hang.h"
#include "section.h"

namespace gpushim::analysis::section_steps {

namespace {

struct Steps {
    int64_t count = 0;
    std::optional<int64_t> first, last, left_out, median_ns, p95_ns;
    std::optional<int64_t> undisturbed_ns;      // the median of timed ones, without our events
    std::optional<double> samples, confidence;  // samples of a step, all ranks
    std::string source = "none", anchor, why;
};

// The ranks of a job step together, so the steps of all of them are looked at as one lot; there are as many
// as the rank with the most has.
void read_lengths(const ReportSource& source, Steps& steps) {
    Query lengths = source.of_steps(
        "WITH counted AS (SELECT dur_ns, row_number() OVER (ORDER BY dur_ns) AS place, count(*) OVER () AS n"
        " FROM v_counted_step WHERE is_slice = 0 AND number BETWEEN ?1 AND ?2)"
        " SELECT min(CASE WHEN place * 100 >= n * 50 THEN dur_ns END),"
        " min(CASE WHEN place * 100 >= n * 95 THEN dur_ns END) FROM counted");
    if (lengths.step()) {
        steps.median_ns = lengths.maybe(0);
        steps.p95_ns = lengths.maybe(1);
    }
    Query counts = source.of_steps(
        "SELECT max(n), min(first), max(last) FROM (SELECT count(*) AS n, min(number) AS first,"
        " max(number) AS last FROM v_counted_step WHERE is_slice = 0 AND number BETWEEN ?1 AND ?2"
        " GROUP BY rank_id)");
    if (counts.step()) {
        steps.count = counts.number(0);
        steps.first = counts.maybe(1);
        steps.last = counts.maybe(2);
    }
}

// As the figures of GPUs are: of steps that were timed, the longest of all GPUs.
void read_undisturbed(const ReportSource& source, Steps& steps) {
    Query row = source.of_steps(
        "WITH timed AS (SELECT max(g.window_ns) AS ns FROM v_gpu_basis b JOIN gpu_step g ON g.gpu_id = "
        "b.gpu_id"
        " AND g.step = b.step WHERE b.basis = 'steps' AND b.number BETWEEN ?1 AND ?2 GROUP BY b.number),"
        " placed AS (SELECT ns, row_number() OVER (ORDER BY ns) AS place, count(*) OVER () AS n FROM timed)"
        " SELECT min(CASE WHEN place * 100 >= n * 50 THEN ns END) FROM placed");
    if (row.step()) steps.undisturbed_ns = row.maybe(0);
}

void read_left_out(const ReportSource& source, Steps& steps) {
    Query query = source.of_steps(
        "SELECT max(n) FROM (SELECT sum(CASE WHEN s.warm_up = 1 OR s.left_out = 1 THEN 1 ELSE 0 END) AS n"
        " FROM step s JOIN rank r ON r.rank_id = s.rank_id WHERE coalesce(r.steps_source, 'none') <> 'none'"
        " AND s.number BETWEEN ?1 AND ?2 GROUP BY s.rank_id)");
    if (query.step()) steps.left_out = query.maybe(0);
}

void read_source(const ReportSource& source, Steps& steps) {
    Query query = source.run.prepare(
        "SELECT steps_source, steps_anchor, steps_confidence, steps_why FROM rank"
        " ORDER BY coalesce(steps_source, 'none') = 'none', rank_id");
    if (!query.step()) return;
    if (!query.is_null(0)) steps.source = query.text(0);
    steps.anchor = query.text(1);
    steps.confidence = maybe_real(query, 2);
    steps.why = query.text(3);
}

// Samples of a step of the whole job: as said, or what the ranks counted, added up.
void read_samples(const ReportSource& source, Steps& steps) {
    if (source.options.samples_per_step) {
        steps.samples = static_cast<double>(*source.options.samples_per_step);
    } else if (const auto stored = source.real("samples_per_step")) {
        steps.samples = stored;
    } else {
        Query query = source.of_steps(
            "SELECT avg(n) FROM (SELECT sum(samples) AS n FROM v_counted_step WHERE is_slice = 0"
            " AND samples IS NOT NULL AND number BETWEEN ?1 AND ?2 GROUP BY step)");
        if (query.step()) steps.samples = maybe_real(query, 0);
    }
}

std::optional<double> samples_per_s(const Steps& steps) {
    if (!steps.samples || !steps.median_ns || *steps.median_ns <= 0) return {};
    return *steps.samples * 1e9 / static_cast<double>(*steps.median_ns);
}

std::string rate_text_of(double per_s) {
    char text[32];
    if (per_s >= 1000) return count_text(to_int64(per_s));
    std::snprintf(text, sizeof text, "%.3g", per_s);
    return text;
}

std::string basis_text(const Steps& steps, const ReportSource& source) {
    char confidence[16] = "";
    if (steps.confidence) std::snprintf(confidence, sizeof confidence, ", %.2f", *steps.confidence);
    const int64_t left_out = steps.left_out.value_or(0);
    return "steps " + std::to_string(*steps.first) + "-" + std::to_string(*steps.last) + " (" +
           count_text(steps.count) + (left_out != 0 ? "; " + count_text(left_out) + " left out" : "") +
           "; anchor " + (steps.anchor.empty() ? steps.source : source.name("anchor", steps.anchor)) +
           confidence + ")";
}

void write_text(const Steps& steps, const ReportSource& source, Report& report) {
    report.line("");
    if (!steps.median_ns) {
        const int64_t left_out = steps.left_out.value_or(0);
        report.line("STEP       " +
                    (left_out == 0 ? "no steps found"
                                   : "no step counts: " + count_text(left_out) +
                                         " left out (warm-up, or without an end)") +
                    "; the figures below are of the whole run");
        if (!steps.why.empty() && !source.options.redact) report.line("           " + steps.why);
        return;
    }
    const auto median_ns = static_cast<double>(*steps.median_ns);
    const auto rate = samples_per_s(steps);
    const std::string rates =
        rate_text_of(1e9 / median_ns) + " steps/s" + (rate ? "   " + rate_text_of(*rate) + " samples/s" : "");
    report.line("STEP       " + duration_text(median_ns) + " median, " +
                duration_text(static_cast<double>(*steps.p95_ns)) + " p95   " +
                (hang_of(source) ? "until nothing moved any more" : rates));
    report.line("           " + basis_text(steps, source));
    constexpr double kWorthSaying = 0.01;
    if (steps.undisturbed_ns && static_cast<double>(*steps.undisturbed_ns) < (1 - kWorthSaying) * median_ns)
        report.line("           with our events in it; without them, as all of GPU and IDLE below, " +
                    duration_text(static_cast<double>(*steps.undisturbed_ns)));
    if (source.is_part_of_run())
        report.line(
            "           STEP, PHASES, GPU, SHARES and IDLE are of these; all else is of the whole run");
}

void write(const ReportSource& source, Report& report) {
    Steps steps;
    read_source(source, steps);
    read_lengths(source, steps);
    read_undisturbed(source, steps);
    read_left_out(source, steps);
    read_samples(source, steps);
    write_text(steps, source, report);
    const std::string none = !steps.why.empty() && !source.options.redact ? steps.why : "no steps were found";
    const auto anchor =
        steps.anchor.empty() ? std::nullopt : std::optional(source.json_name("anchor", steps.anchor));
    report.json.set(
        "steps",
        Facts()
            .known("count", steps.count)
            .maybe("first", steps.first, none)
            .maybe("last", steps.last, none)
            .maybe("left_out", steps.left_out, none)
            .maybe("median_ns", steps.median_ns, none)
            .maybe("p95_ns", steps.p95_ns, none)
            .maybe("undisturbed_median_ns", steps.undisturbed_ns,
                   steps.median_ns ? "no step was timed as a whole" : none)
            .maybe("samples_per_s", samples_per_s(steps),
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
