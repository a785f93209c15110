// How far the figures can be trusted: what has device times, in how much of the run, how sure they are, and
// what getting them has cost. Of several ranks the worst. Where traces are there, more is in trust_rows.
#include "../text/units.h"
#include "facts.h"
#include "section.h"
#include "trust_rows.h"

namespace gpushim::analysis::section_trust {

namespace {

struct Trust {
    std::string level;  // the least that any GPU has; without GPUs that of the ranks
    std::optional<double> coverage, timed_share, own_cost_share, budget, writer_share;
    std::optional<double> most_cost_share;  // of processes at least a tenth as long as the longest
    int64_t processes = 0;
    std::optional<int64_t> windows, clock_error_ns, latency_ns;
    std::optional<int64_t> calibrated_ns;  // the latency if it was calibrated
    bool is_calibrated = false;            // which traces tell
};

// The latency that was taken for granted stands in the last but one, too: only traces tell if it was
// calibrated.
constexpr const char* kGpus =
    "SELECT min(coverage), min(timed_share), min(windows), max(latency_ns), (SELECT latency_p50_ns"
    " FROM launch_stat WHERE on_empty >= 5 ORDER BY count DESC LIMIT 1) FROM gpu WHERE level <> 'host'";

// A process stands for as much of the run as it is long, and a short one is no worst case of the others.
constexpr const char* kCosts =
    "WITH process AS (SELECT *, coalesce(max(last_ns - first_ns, 1), 1) AS ns FROM rank),"
    " known AS (SELECT *, count(*) OVER () = 1 AS is_only FROM process WHERE own_cost_share NOTNULL)"
    "SELECT (SELECT max(clock_error_ns) FROM rank),"
    " CASE WHEN max(is_only) THEN max(own_cost_share) ELSE sum(own_cost_share * ns) / sum(ns) END, "
    "max(budget),"
    " CASE WHEN max(is_only) THEN max(writer_cpu_share) ELSE sum(writer_cpu_share * ns) / sum(ns) END, "
    "count(*),"
    " max(CASE WHEN ns * 10 >= (SELECT max(ns) FROM known) THEN own_cost_share END) FROM known";

Trust trust_of(const Database& run) {
    Trust trust;
    Query gpus = run.prepare(kGpus);
    if (gpus.step()) {
        trust.coverage = maybe_real(gpus, 0);
        trust.timed_share = maybe_real(gpus, 1);
        trust.windows = gpus.maybe(2);
        trust.calibrated_ns = gpus.maybe(3);
        trust.latency_ns = gpus.maybe(4);
    }
    Query ranks = run.prepare(kCosts);
    if (ranks.step()) {
        trust.clock_error_ns = ranks.maybe(0);
        trust.own_cost_share = maybe_real(ranks, 1);
        trust.budget = maybe_real(ranks, 2);
        trust.writer_share = maybe_real(ranks, 3);
        trust.processes = ranks.number(4);
        trust.most_cost_share = maybe_real(ranks, 5);
    }
    Query level = run.prepare(
        "SELECT level FROM (SELECT level FROM gpu UNION SELECT level FROM rank"
        " WHERE NOT EXISTS (SELECT 1 FROM gpu)) WHERE level IS NOT NULL"
        " ORDER BY CASE level WHEN 'host' THEN 0 WHEN 'events' THEN 1 ELSE 2 END, level");
    trust.level = level.step() ? level.text(0) : "host";
    return trust;
}

// As people call it.
std::string source_of_times(const std::string& level) {
    if (level == "kineto") return "PyTorch's profiler (Kineto)";
    if (level == "xplane") return "CUPTI (XPlane)";
    return level == "nsys" ? "Nsight Systems" : level;
}

std::string level_text(const Trust& trust, bool rows_gone) {
    if (trust.level == "host" && !trust.windows)
        return "host times only: how long the GPU worked is not recorded";
    return "device times by " +
           (trust.level == "host" ? "events, not on all GPUs" : source_of_times(trust.level)) + ": " +
           (trust.windows ? (rows_gone ? "at least " : "") + count_text(*trust.windows) +
                                (*trust.windows == 1 ? " window, " : " windows, ")
                          : "") +
           (trust.timed_share ? percent_text(*trust.timed_share) + " of the run" : "share not recorded") +
           (trust.coverage ? ", " + percent_text(*trust.coverage) + " of the operations in that time" : "");
}

std::string clock_text(const Trust& trust) {
    return (trust.clock_error_ns ? "clock ±" + duration_text(static_cast<double>(*trust.clock_error_ns))
                                 : "clock error not recorded") +
           "; launch latency " +
           (trust.latency_ns ? duration_text(static_cast<double>(*trust.latency_ns)) +
                                   (trust.is_calibrated ? "" : ", not calibrated")
                             : "was not calibrated");
}

void write_cost(const Trust& trust, Report& report) {
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
    Trust trust = trust_of(source.run);
    const TrustRows rows = source.traces != nullptr ? trust_rows_of(*source.traces) : TrustRows();
    trust.is_calibrated = rows.has_latency && trust.calibrated_ns;
    if (trust.is_calibrated) trust.latency_ns = trust.calibrated_ns;
    report.line("trust   " + level_text(trust, rows.rows_gone));
    report.line("        " + clock_text(trust));
    write_cost(trust, report);
    const char* const none = trust.level == "host" ? "device times are not recorded" : "not recorded";
    Facts facts;
    facts.known("level", trust.level)
        .maybe("coverage", trust.coverage, none)
        .maybe("timed_share", trust.timed_share, none)
        .maybe("windows", trust.windows, none)
        .maybe("clock_error_ns", trust.clock_error_ns, none)
        .maybe("own_cost_share", trust.own_cost_share, "the traces do not say what they cost")
        .maybe("budget", trust.budget, "the traces do not say what they cost")
        .maybe("latency_ns", trust.latency_ns, "was not calibrated, and few launches found the GPU empty");
    if (source.traces != nullptr) write_trust_rows(rows, report, facts);
    report.json.set("trust", facts.json());
}

constexpr Section kSection = {"trust", write};
const SectionRegistration kRegistration(kSection);

}  // namespace

}  // namespace gpushim::analysis::section_trust
