#include "evidence.h"

#include <algorithm>

#include "../advice/evidence_limits.h"
#include "../advice/unlike_sample.h"
#include "../run/sql/inferred_group_name.h"
#include "../text/units.h"
#include "contradictions.h"
#include "facts.h"
#include "gpu_figures.h"
#include "step_figures.h"

namespace gpushim::analysis {

namespace {

constexpr double kAll = 0.9995;     // of operations, or of a run: what is missing would not be seen
constexpr double kMuchTimed = 0.1;  // of the run; below, the rest is an estimate
constexpr double kWide = 0.5;       // a range of an idle share
constexpr double kManyLost = 0.01;  // of the events
constexpr double kSureOfSteps = 0.8;

struct Wrong {
    Grade grade;
    std::string text;
};
using Wrongs = std::vector<Wrong>;

std::string counted_text(int64_t count, const char* one, const char* several) {
    return count_text(count) + " " + (count == 1 ? one : several);
}

void doubt_figures(const ReportSource& source, Wrongs& wrongs) {
    int64_t proven = 0, doubts = 0;
    for (const Contradiction& one : contradictions_of(source)) ++(one.sections.empty() ? doubts : proven);
    if (proven > 0)
        wrongs.push_back({Grade::poor, counted_text(proven, "contradiction", "contradictions") + " (below)"});
    if (doubts > 0)
        wrongs.push_back({Grade::fair, counted_text(doubts, "figure", "figures") + " in doubt (below)"});
}

void doubt_times(const ReportSource& source, const TrustFigures& trust, Wrongs& wrongs) {
    if (trust.level == "host" && !trust.windows)
        return wrongs.push_back({Grade::poor, "host times only: what the GPU did is not recorded"});
    if (trust.level == "host") wrongs.push_back({Grade::fair, "not all GPUs have device times"});
    if (const auto covered = trust.covered(); covered && *covered < kCovered)
        wrongs.push_back({too_few_with_times(source) ? Grade::poor : Grade::fair,
                          percent_text(*covered) + " " + trust.of_what() + " have times"});
    if (trust.timed_share && *trust.timed_share < kMuchTimed)
        wrongs.push_back({Grade::fair, percent_text(*trust.timed_share) +
                                           " of the run was timed, the rest is an estimate"});
}

void doubt_sample(const ReportSource& source, Wrongs& wrongs) {
    if (const auto unlike = unlike_sample(source.run.raw())) wrongs.push_back({Grade::poor, unlike->text()});
}

void doubt_cost(const ReportSource& source, const TrustFigures& trust, Wrongs& wrongs) {
    if (!trust.own_cost_share || !trust.budget || *trust.own_cost_share <= kOverBudget * *trust.budget)
        return;
    Query length = source.run.prepare("SELECT max(last_ns - first_ns) FROM rank");
    if (length.step() && length.real(0) >= static_cast<double>(kLongEnoughForCost))
        wrongs.push_back({Grade::fair, "own cost " + percent_text(*trust.own_cost_share) + ", more than " +
                                           percent_text(*trust.budget)});
}

void doubt_events(const ReportSource& source, Wrongs& wrongs) {
    Query sums = source.run.prepare(
        "SELECT sum(produced), coalesce(sum(dropped), 0), coalesce(sum(unknown), 0),"
        " count(DISTINCT rank), max(world_size) FROM rank");
    if (!sums.step()) return;
    const double produced = std::max(sums.real(0), 1.0);
    const auto lost = [&](int column, const char* what) {
        if (sums.number(column) > 0)
            wrongs.push_back(
                {sums.real(column) > kManyLost * produced ? Grade::poor : Grade::fair,
                 count_text(sums.number(column)) + " of " + count_text(sums.number(0)) + " events " + what});
    };
    lost(1, "dropped");
    lost(2, "unknown");
    const auto expected = sums.is_null(4) ? source.number("ranks_expected") : sums.maybe(4);
    if (expected && sums.number(3) > 0 && sums.number(3) < *expected)
        wrongs.push_back(
            {Grade::fair, count_text(sums.number(3)) + " of " + count_text(*expected) + " ranks"});
    if (const auto placeless = source.number("placeless_operations"); placeless.value_or(0) > 0)
        wrongs.push_back(
            {static_cast<double>(*placeless) > kManyLost * produced ? Grade::poor : Grade::fair,
             counted_text(*placeless, "operation", "operations") + " on a GPU that is not known"});
    if (const auto left = source.number("not_ended"); left.value_or(0) > 0)
        wrongs.push_back({Grade::fair, counted_text(*left, "trace has", "traces have") + " no end"});
}

void doubt_files(const ReportSource& source, Wrongs& wrongs) {
    if (source.traces != nullptr && !source.traces->refused.empty())
        wrongs.push_back(
            {Grade::poor, counted_text(static_cast<int64_t>(source.traces->refused.size()), "file", "files") +
                              " not read (MISSING, below)"});
    if (const auto partly = source.number("partly_read"); partly.value_or(0) > 0)
        wrongs.push_back({Grade::poor, "not all of " + counted_text(*partly, "file", "files") +
                                           " could be read: what may be missing looks idle"});
}

// A clock that jumped, or two that disagree.
void doubt_clocks(const ReportSource& source, Wrongs& wrongs) {
    Query odd = source.run.prepare("SELECT sum(early), (SELECT sum(produced) FROM rank) FROM odd_operation");
    if (!odd.step() || odd.maybe(0).value_or(0) <= 0) return;
    wrongs.push_back({odd.real(0) > kManyLost * std::max(odd.real(1), 1.0) ? Grade::poor : Grade::fair,
                      counted_text(odd.number(0), "operation", "operations") +
                          " began before being asked for: a clock jumped, or clocks disagree"});
}

void doubt_steps(const ReportSource& source, Wrongs& wrongs) {
    const ShownSteps& steps = step_figures(source);
    if (!steps.median_ns || steps.confidence.value_or(1) >= kSureOfSteps) return;
    wrongs.push_back({Grade::fair, "where steps begin was found by their pattern, " +
                                       figure_text("%.2f", *steps.confidence) + " sure"});
}

// A profile is short: what repeats in it may be a layer. Our own traces are of whole runs, and a server's
// iterations are told by what its host reads.
void doubt_parts(const ReportSource& source, Wrongs& wrongs) {
    if (source.text("sources").value_or("gpushim") == "gpushim") return;
    Query found = source.run.prepare(
        "SELECT 1 FROM rank r WHERE r.steps_source = 'detected' AND NOT EXISTS (SELECT 1 FROM phase p"
        " WHERE p.rank_id = r.rank_id AND p.name = 'optimizer' AND p.confidence > 0.8) AND NOT EXISTS"
        " (SELECT 1 FROM program g WHERE g.rank_id = r.rank_id AND g.kind = 'serving')");
    if (found.step())
        wrongs.push_back({Grade::fair,
                          "steps are what repeats, and nothing marks them: each may be a part "
                          "of one, such as a layer"});
}

// A process's first call of CUDA sets the device up, whichever it is: 0.1 to 0.5 s, most of what a short
// program takes. Whether this one was the first is not known here.
std::string longest_call_text(const ReportSource& source, double run_ns) {
    constexpr double kMuch = 0.2;  // of what was recorded
    Query longest = source.run.prepare(
        "SELECT api, max_ns FROM api_stat WHERE api NOT LIKE '%Synchronize%' AND api NOT LIKE '%Memcpy%'"
        " AND api NOT LIKE '%Launch%' ORDER BY max_ns DESC, api LIMIT 1");
    if (!longest.step() || longest.is_null(1) || longest.real(1) < kMuch * run_ns) return "";
    return "; a single call, " + longest.text(0) + ", took " + duration_text(longest.real(1));
}

// Of another profiler, which times everything: the span is that of the GPU's operations.
void doubt_short_use(const ReportSource& source, Wrongs& wrongs) {
    constexpr double kLittle = 0.05;  // of what was recorded
    Query used = source.run.prepare(
        "SELECT max(t.window_ns), max(g.run_ns) FROM gpu g JOIN v_gpu_total t ON t.gpu_id = g.gpu_id"
        " WHERE t.basis = 'slices' AND g.timed_share >= 0.999");
    if (!used.step() || used.is_null(0) || used.real(0) >= kLittle * used.real(1)) return;
    wrongs.push_back({Grade::fair, "the GPU was used for " + duration_text(used.real(0)) + " of " +
                                       duration_text(used.real(1)) +
                                       ": figures are of that time, which may be a start" +
                                       longest_call_text(source, used.real(1))});
}

void doubt_idle(const ReportSource& source, Wrongs& wrongs) {
    const double share = unexplained_share(gpu_figures(source));
    if (share >= kMuchUnexplained)
        wrongs.push_back({Grade::poor, "for " + percent_text(share) +
                                           " of the time work was queued and nothing recorded ran"});
}

// Of the GPU that is known worst.
void doubt_range(const ReportSource& source, Wrongs& wrongs) {
    std::optional<ShareRange> widest;
    for (const GpuFigures& gpu : gpu_figures(source)) {
        if (!gpu.is_known()) continue;
        const ShareRange idle = gpu.idle();
        if (!widest || idle.high - idle.low > widest->high - widest->low) widest = idle;
    }
    if (widest && widest->high - widest->low > kWide)
        wrongs.push_back({Grade::fair, "the GPU is idle " + percent_text(widest->low) + " to " +
                                           percent_text(widest->high) + " of the time: no more is known"});
}

void doubt_graphs(const ReportSource& source, Wrongs& wrongs) {
    Query hidden = source.run.prepare("SELECT sum(kernels) FROM v_hidden_collectives");
    if (hidden.step() && hidden.maybe(0).value_or(0) > 0)
        wrongs.push_back(
            {Grade::fair, count_text(hidden.number(0)) +
                              " collectives ran inside graphs, and their time counts as compute"});
}

void doubt_groups(const ReportSource& source, Wrongs& wrongs) {
    Query inferred = source.run.prepare("SELECT 1 FROM communicator WHERE comm = ?1");
    inferred.bind(1, std::string(kInferredGroup));
    if (inferred.step())
        wrongs.push_back(
            {Grade::fair,
             "that collectives are of all ranks is inferred: no trace says of which they are, and "
             "they end together on all"});
}

// "but 636 of 8,772 kernels have no length": their times end as they begin, so nothing is known of how long
// they ran.
std::string without_length_text(const Database& run) {
    Query row = run.prepare("SELECT sum(invalid), sum(launches + coalesce(graph_launches, 0)) FROM kernel");
    if (!row.step() || row.maybe(0).value_or(0) <= 0) return "";
    return "but " + count_text(row.number(0)) + " of " + count_text(row.number(1)) +
           " kernels have no length";
}

std::string basis_text(const Database& run, const TrustFigures& trust) {
    std::string text;
    const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
    const bool all = trust.covered().value_or(0) >= kAll;
    if (trust.timed_share && *trust.timed_share >= 0.99 && all)
        add("all operations timed");
    else if (trust.timed_share)
        add(percent_text(*trust.timed_share) + " of the run timed" +
            (trust.covered() && !all
                 ? ", " + percent_text(*trust.covered()) +
                       (trust.steps_coverage ? " of the operations in steps" : " of its operations")
                 : ""));
    const std::string source = source_of_times(trust.level);
    if (!text.empty() && trust.level != "host" && source != trust.level) text += " by " + source;
    if (const std::string some = without_length_text(run); !text.empty() && !some.empty()) add(some);
    if (trust.own_cost_share) add("own cost " + percent_text(*trust.own_cost_share));
    return text;
}

}  // namespace

const char* word_of(Grade grade) {
    return grade == Grade::good ? "good" : grade == Grade::fair ? "fair" : "poor";
}

TrustGrade evidence_of(const ReportSource& source) {
    const TrustFigures trust = trust_figures(source.run);
    Wrongs wrongs;
    doubt_figures(source, wrongs);
    doubt_files(source, wrongs);
    doubt_clocks(source, wrongs);
    doubt_times(source, trust, wrongs);
    doubt_sample(source, wrongs);
    doubt_idle(source, wrongs);
    doubt_range(source, wrongs);
    doubt_graphs(source, wrongs);
    doubt_events(source, wrongs);
    doubt_groups(source, wrongs);
    doubt_steps(source, wrongs);
    doubt_parts(source, wrongs);
    doubt_short_use(source, wrongs);
    doubt_cost(source, trust, wrongs);
    std::stable_sort(wrongs.begin(), wrongs.end(),
                     [](const Wrong& a, const Wrong& b) { return a.grade > b.grade; });
    TrustGrade graded;
    graded.basis = basis_text(source.run, trust);
    for (Wrong& wrong : wrongs) {
        graded.grade = std::max(graded.grade, wrong.grade);
        graded.wrongs.push_back(std::move(wrong.text));
    }
    Query simulated = source.run.prepare("SELECT max(simulated) FROM gpu");
    graded.is_simulated = simulated.step() && simulated.number(0) != 0;
    return graded;
}

}  // namespace gpushim::analysis
