#include "step_figures.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <unordered_map>
#include <vector>

#include "../run/sql/step_lengths.h"
#include "../step/steps.h"
#include "../text/units.h"
#include "../to_int64.h"
#include "counted.h"

namespace gpushim::analysis {

namespace {

constexpr double kUneven = 0.03;

// The ranks of a job step together, so the steps of all of them are looked at as one lot; there are as many
// as the rank with the most has.
void read_lengths(const ReportSource& source, ShownSteps& steps) {
    std::vector<int64_t> lengths_ns;
    std::map<int64_t, int64_t> of_rank;
    long double sum_ns = 0;  // exact
    for (const CountedLengths::Length& one : counted_lengths(source).all) {
        lengths_ns.push_back(one.dur_ns);
        sum_ns += static_cast<long double>(one.dur_ns);
        steps.count = std::max(steps.count, ++of_rank[one.rank_id]);
        steps.first = std::min(steps.first.value_or(one.number), one.number);
        steps.last = std::max(steps.last.value_or(one.number), one.number);
    }
    if (lengths_ns.empty()) return;
    steps.median_ns = length_at(lengths_ns, 50);
    steps.p95_ns = length_at(lengths_ns, 95);
    steps.mean_ns =
        to_int64(std::round(static_cast<double>(sum_ns) / static_cast<double>(lengths_ns.size())));
}

// Of a few steps the mean may be of none in which the host waits.
void read_host_ahead(const ReportSource& source, ShownSteps& steps) {
    Query ahead = source.run.prepare(
        "SELECT CAST(max(work_ns) AS INTEGER), max(work_ns) > 1.05 * max(mean_ns), count(*) FROM "
        "v_host_ahead");
    steps.host_ahead = !source.is_part_of_run() && ahead.step() && ahead.number(2) > 0;
    if (steps.host_ahead && ahead.number(1) != 0) steps.ahead_work_ns = ahead.maybe(0);
}

// As the figures of GPUs are: of steps that were timed, the longest of all GPUs.
void read_undisturbed(const ReportSource& source, ShownSteps& steps) {
    const auto counted = counted_steps_asked_for(source);
    std::unordered_map<int64_t, int64_t> longest_ns;  // by number
    for (const GpuInStep& row : counted->rows()) {
        const GpuTotal* total = counted->total_of(row.gpu_id);
        if (total == nullptr || total->basis != "steps") continue;
        int64_t& longest = longest_ns[row.number];
        longest = std::max(longest, row.window_ns);
    }
    std::vector<int64_t> all_ns;
    for (const auto& [number, ns] : longest_ns) all_ns.push_back(ns);
    if (!all_ns.empty()) steps.undisturbed_ns = length_at(all_ns, 50);
}

void read_left_out(const ReportSource& source, ShownSteps& steps) {
    Query query = source.of_steps(
        "SELECT max(n) FROM (SELECT sum(CASE WHEN s.warm_up = 1 OR s.left_out = 1 THEN 1 ELSE 0 END) AS n"
        " FROM step s JOIN rank r ON r.rank_id = s.rank_id WHERE coalesce(r.steps_source, 'none') <> 'none'"
        " AND s.number BETWEEN ?1 AND ?2 GROUP BY s.rank_id)");
    if (query.step()) steps.left_out = query.maybe(0);
}

void read_warm_up(const ReportSource& source, ShownSteps& steps) {
    Query query = source.of_steps(
        "SELECT count(*), sum(s.dur_ns) FROM step s JOIN rank r ON r.rank_id = s.rank_id"
        " WHERE coalesce(r.steps_source, 'none') <> 'none' AND s.warm_up = 1 AND coalesce(s.left_out, 0) = 0"
        " AND s.number BETWEEN ?1 AND ?2 GROUP BY s.rank_id ORDER BY 2 DESC LIMIT 1");
    if (!query.step()) return;
    steps.warm_up_count = query.number(0);
    steps.warm_up_ns = query.number(1);
}

constexpr int64_t kFewestInQuarters = 40;  // steps
constexpr double kTrend = 1.2;             // times as long, or as short
constexpr double kSureErrors = 4;          // so many standard errors are no chance

struct Quarter {
    double steps, median_ns, mean_ns, squares_ns;
    double error_of_mean() const {  // squared
        return std::max(0.0, squares_ns - mean_ns * mean_ns) / steps;
    }
};

Quarter quarter_of(std::vector<int64_t> lengths_ns) {
    const auto steps = static_cast<double>(lengths_ns.size());
    double sum_ns = 0, squares_ns = 0;
    for (const int64_t ns : lengths_ns) {
        sum_ns += static_cast<double>(ns);
        squares_ns += static_cast<double>(ns) * static_cast<double>(ns);
    }
    return {steps, static_cast<double>(length_at(lengths_ns, 50)), sum_ns / steps, squares_ns / steps};
}

// Of lengths that are drawn at random medians, and of one long step means, differ by chance.
bool is_trend(const Quarter& first, const Quarter& last) {
    const double medians = last.median_ns / first.median_ns, means = last.mean_ns / first.mean_ns;
    const double apart_ns = std::abs(last.mean_ns - first.mean_ns);
    return (std::min(medians, means) >= kTrend || std::max(medians, means) <= 1 / kTrend) &&
           apart_ns >= kSureErrors * std::sqrt(first.error_of_mean() + last.error_of_mean());
}

// Of each number the longest of all ranks.
void read_quarters(const ReportSource& source, ShownSteps& steps) {
    if (steps.host_ahead || steps.count < kFewestInQuarters) return;
    std::map<int64_t, int64_t> longest_ns;
    for (const CountedLengths::Length& one : counted_lengths(source).all) {
        int64_t& ns = longest_ns.try_emplace(one.number, one.dur_ns).first->second;
        ns = std::max(ns, one.dur_ns);
    }
    std::vector<int64_t> in_order;
    for (const auto& [number, ns] : longest_ns) in_order.push_back(ns);
    const auto quarter = static_cast<std::ptrdiff_t>(in_order.size() / 4);
    if (quarter == 0) return;
    const auto longer = quarter + (in_order.size() % 4 != 0);  // the first ones have what is left over
    const Quarter first = quarter_of({in_order.begin(), in_order.begin() + longer});
    const Quarter last = quarter_of({in_order.end() - quarter, in_order.end()});
    if (first.median_ns <= 0 || first.mean_ns <= 0) return;
    steps.first_quarter_ns = to_int64(first.median_ns);
    steps.last_quarter_ns = to_int64(last.median_ns);
    steps.is_trend = is_trend(first, last);
}

// Of the rank that has most of them.
void read_no_update(const ReportSource& source, ShownSteps& steps) {
    Query query = source.run.prepare(
        "SELECT count(*), sum(dur_ns) FROM step WHERE left_out = 1 AND why = ?1 GROUP BY rank_id"
        " ORDER BY sum(dur_ns) DESC LIMIT 1");
    query.bind(1, std::string(kTrainsNothing));
    if (!query.step()) return;
    steps.no_update_count = query.number(0);
    steps.no_update_ns = query.number(1);
}

void read_place(const ReportSource& source, ShownSteps& steps) {
    Query place = source.run.prepare(
        "SELECT max(s.begin_ns + s.dur_ns) - min(s.begin_ns) AS span, min(s.begin_ns) - r.first_ns,"
        " r.last_ns - r.first_ns FROM step s JOIN rank r ON r.rank_id = s.rank_id"
        " WHERE coalesce(r.steps_source, 'none') <> 'none' GROUP BY s.rank_id ORDER BY span DESC, s.rank_id");
    if (!place.step() || place.is_null(0) || place.is_null(2) || place.number(2) <= 0) return;
    steps.span_ns = place.number(0);
    steps.before_ns = std::max<int64_t>(0, place.number(1));
    steps.run_share =
        std::min(1.0, static_cast<double>(place.number(0)) / static_cast<double>(place.number(2)));
}

void read_used(const ReportSource& source, ShownSteps& steps) {
    constexpr double kClearlyLess = 0.9;
    if (steps.median_ns) return;
    Query used = source.run.prepare(
        "SELECT max(t.window_ns), max(g.run_ns) FROM gpu g JOIN v_gpu_total t ON t.gpu_id = g.gpu_id"
        " WHERE t.basis = 'slices' AND g.timed_share >= 0.999");
    if (!used.step() || used.is_null(0) || used.real(0) >= kClearlyLess * used.real(1)) return;
    steps.used_ns = used.number(0);
}

void read_source(const ReportSource& source, ShownSteps& steps) {
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
void read_samples(const ReportSource& source, ShownSteps& steps) {
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

}  // namespace

bool ShownSteps::is_uneven() const {
    if (!median_ns || !mean_ns || *median_ns <= 0) return false;
    return std::abs(static_cast<double>(*mean_ns) / static_cast<double>(*median_ns) - 1) > kUneven;
}
std::string ShownSteps::span_text() const {
    if (!used_ns) return "the whole run";
    return "the " + duration_text(static_cast<double>(*used_ns)) + " in which the GPU was used";
}
std::optional<double> ShownSteps::steps_per_s() const {
    if (!mean_ns || *mean_ns <= 0) return {};
    return 1e9 / static_cast<double>(*mean_ns);
}
std::optional<double> ShownSteps::samples_per_s() const {
    if (!samples || !steps_per_s()) return {};
    return *samples * *steps_per_s();
}
std::string ShownSteps::rates_text(const char* of_steps, const char* between) const {
    const auto rate_of_steps = steps_per_s();
    std::string text = rate_of_steps ? rate_text_of(*rate_of_steps) + of_steps : "";
    if (const auto rate = samples_per_s()) text += between + rate_text_of(*rate) + " samples/s";
    return text;
}

namespace {

ShownSteps read_step_figures(const ReportSource& source) {
    ShownSteps steps;
    read_source(source, steps);
    read_lengths(source, steps);
    read_host_ahead(source, steps);
    read_undisturbed(source, steps);
    read_left_out(source, steps);
    read_warm_up(source, steps);
    read_quarters(source, steps);
    read_no_update(source, steps);
    read_place(source, steps);
    read_used(source, steps);
    read_samples(source, steps);
    return steps;
}

}  // namespace

const ShownSteps& step_figures(const ReportSource& source) {
    if (!source.asked_steps)
        source.asked_steps = std::make_shared<const ShownSteps>(read_step_figures(source));
    return *source.asked_steps;
}

std::string rate_text_of(double per_s) {
    char text[32];
    if (per_s >= 1000) return count_text(to_int64(std::round(per_s)));
    std::snprintf(text, sizeof text, "%.3g", per_s);
    return text;
}

}  // namespace gpushim::analysis
