// What each GPU did with its time: productive, waiting for another rank, exposed communication, memory, idle;
// and of the whole run how much it was busy. Worst first.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "../text/units.h"
#include "facts.h"
#include "gpu_figures.h"
#include "section.h"
#include "step_figures.h"

namespace gpushim::analysis::section_gpus {

namespace {

constexpr size_t kMostRows = 6, kFewestRows = 4, kAlwaysShown = 3;
constexpr size_t kMostMarks = 3;
constexpr double kMarkedCoverage = 0.99;  // below it a figure is marked

// The row of `gpu`, as read.
struct Gpu {
    std::string uuid, name, level, why;
    bool simulated;
    std::optional<int64_t> run_ns, windows, memory_peak, memory_total;
    std::optional<double> busy, low, high, likely_low, likely_high, as_ran, as_ran_low, as_ran_high, coverage,
        timed_share, open_share, inferred_share;
    bool called_nccl;
    std::optional<double> steps_coverage;
    bool is_unused;  // of that nothing is missing: its process did nothing there

    double covered() const { return steps_coverage ? *steps_coverage : coverage.value_or(1); }
};

std::map<int64_t, Gpu> rows_of(const Database& run) {
    std::map<int64_t, Gpu> all;
    Query row = run.prepare(
        "SELECT gpu_id, uuid, name, simulated, level, coalesce(why, ''), run_ns, windows, memory_peak_bytes,"
        " memory_total_bytes, busy_share, busy_share_low, busy_share_high,"
        " busy_share_likely_low, busy_share_likely_high, as_it_ran_share,"
        " as_it_ran_share_low, as_it_ran_share_high, coverage, timed_share, open_share, inferred_share,"
        " EXISTS (SELECT 1 FROM stream_stat s WHERE s.gpu_id = gpu.gpu_id AND s.collectives > 0)"
        " OR EXISTS (SELECT 1 FROM collective_instance c WHERE c.rank_id = gpu.rank_id),"
        " (SELECT w.coverage FROM step_work w WHERE w.gpu_id = gpu.gpu_id),"
        " gpu.gpu_id IN (SELECT gpu_id FROM v_unused_gpu) FROM gpu");
    while (row.step())
        all[row.number(0)] = {
            row.text(1),         row.text(2),         row.text(4),         row.text(5),
            row.number(3) != 0,  row.maybe(6),        row.maybe(7),        row.maybe(8),
            row.maybe(9),        maybe_real(row, 10), maybe_real(row, 11), maybe_real(row, 12),
            maybe_real(row, 13), maybe_real(row, 14), maybe_real(row, 15), maybe_real(row, 16),
            maybe_real(row, 17), maybe_real(row, 18), maybe_real(row, 19), maybe_real(row, 20),
            maybe_real(row, 21), row.number(22) != 0, maybe_real(row, 23), row.number(24) != 0};
    return all;
}

std::string why_of(const Gpu& gpu, const ReportSource& source) {
    if (!gpu.why.empty()) return gpu.why;
    if (gpu.busy && gpu.coverage.value_or(0) > 0 && !source.is_part_of_run())
        return "all windows were over before the steps that count began";
    return source.is_part_of_run() ? "none of these steps was timed as a whole"
                                   : "no operation has device times";
}

// In 95 of 100 cases.
void add_likely(Facts& facts, const std::string& name, std::optional<double> low, std::optional<double> high,
                const std::string& why) {
    facts.maybe((name + "_likely_low").c_str(), low, why).maybe((name + "_likely_high").c_str(), high, why);
}

// busy_share is of the same rows as idle.
void add_shares(Facts& facts, const GpuFigures& figures, const Gpu& gpu, const std::string& why) {
    const auto share = [&](int64_t ns) {
        return figures.is_known() ? std::optional(figures.of_window(ns)) : std::nullopt;
    };
    if (figures.is_known()) {
        const ShareRange likely = figures.busy(), certain = figures.certainly_busy();
        const ShareRange productive = figures.productive(), waiting = figures.waiting();
        const ShareRange at_most = figures.certainly_productive();
        facts.between("busy_share", likely.share, certain.low, certain.high, "");
        add_likely(facts, "busy_share", likely.low, likely.high, "");
        facts.between("productive_share", productive.share, at_most.low, at_most.high, "");
        add_likely(facts, "productive_share", productive.low, productive.high, "");
        const auto of_waits = [&](double value) {
            return figures.knows_waits() ? std::optional(value) : std::nullopt;
        };
        facts
            .between("waiting_for_peer_share", of_waits(waiting.share), of_waits(waiting.low),
                     of_waits(waiting.high), figures.wait_why)
            .maybe("exposed_comm_share", of_waits(figures.of_window(figures.exposed_transfer_ns)),
                   figures.wait_why)
            .between("idle_share", share(figures.idle_ns), 1 - certain.high, 1 - certain.low, "");
        add_likely(facts, "idle_share", 1 - likely.high, 1 - likely.low, "");
    } else {
        const auto over = [](std::optional<double> bound) {
            return bound ? std::optional(1 - *bound) : std::nullopt;
        };
        facts.between("busy_share", std::nullopt, gpu.low, gpu.high, why);
        add_likely(facts, "busy_share", {}, {}, why);
        add_likely(facts, "productive_share", {}, {}, why);
        facts.between("productive_share", std::nullopt, {}, {}, why)
            .between("waiting_for_peer_share", std::nullopt, {}, {}, why)
            .maybe("exposed_comm_share", std::optional<double>(), why)
            .between("idle_share", std::nullopt, over(gpu.high), over(gpu.low), why);
        add_likely(facts, "idle_share", {}, {}, why);
    }
    facts.maybe("memory_share", share(figures.memory_ns), why)
        .maybe("compute_share", share(figures.compute_ns), why)
        .maybe("copy_share", share(figures.copy_ns), why)
        .maybe("comm_share", share(figures.comm_ns), why);
}

void add_idle(Facts& facts, const GpuFigures& figures, const std::string& why) {
    const auto known = [&](int64_t ns) { return figures.is_known() ? std::optional(ns) : std::nullopt; };
    facts.maybe("idle_ns", known(figures.idle_ns), why);
    if (figures.is_known() && figures.causes_sum()) {
        Json causes = Json::object();
        for (const auto& [cause, ns] : figures.idle_by_cause) causes.set(cause, ns);
        facts.known("idle_by_cause_ns", std::move(causes));
    } else {
        facts.maybe("idle_by_cause_ns", std::optional<int64_t>(),
                    figures.is_known() ? "the causes of idle time do not add up: a bug in gpushim" : why);
    }
}

void add_comm(Facts& facts, const GpuFigures& figures, const Gpu& gpu, const std::string& why) {
    const bool linked = figures.comm_ns > 0;
    const char* const none = gpu.called_nccl ? "NCCL was called, but no operation was linked to its calls"
                                             : "no communication ran in what was timed";
    const bool known = figures.is_known() && (linked || !gpu.called_nccl);
    facts.maybe("exposed_comm_ns", known ? std::optional(figures.exposed_ns) : std::nullopt,
                figures.is_known() ? none : why);
    facts.maybe("overlap_share",
                figures.is_known() && linked ? std::optional(1 - static_cast<double>(figures.exposed_ns) /
                                                                     static_cast<double>(figures.comm_ns))
                                             : std::nullopt,
                figures.is_known() ? none : why);
}

// Of all that ends in _low and _high.
std::optional<std::string> bounds_word(const GpuFigures& figures) {
    if (!figures.bounds_hold) return {};
    return *figures.bounds_hold ? "hard" : "estimates";
}

Json json_of(const GpuFigures& figures, const Gpu& gpu, const ReportSource& source) {
    const std::string why = why_of(gpu, source);
    Facts facts;
    facts.maybe("rank", figures.label.rank, "no rank is known")
        .known("gpu_id", figures.gpu_id)
        .known("gpu", gpu.uuid)
        .known("name", gpu.name)
        .known("simulated", gpu.simulated)
        .maybe("window_ns", figures.is_known() ? std::optional(figures.window_ns) : gpu.run_ns, why);
    add_shares(facts, figures, gpu, why);
    add_idle(facts, figures, why);
    add_comm(facts, figures, gpu, why);
    facts.maybe("memory_peak_bytes", gpu.memory_peak, "no allocation was recorded")
        .maybe("memory_total_bytes", gpu.memory_total, "not recorded")
        .between("run_busy_share", gpu.busy, gpu.low, gpu.high, why)
        .maybe("run_busy_share_likely_low", gpu.likely_low, why)
        .maybe("run_busy_share_likely_high", gpu.likely_high, why)
        .between("busy_share_as_it_ran", gpu.as_ran, gpu.as_ran_low, gpu.as_ran_high,
                 gpu.busy ? "only windows were timed" : why)
        .maybe("bounds", bounds_word(figures),
               gpu.level.empty() ? why : "the trace does not say whether this GPU was calibrated")
        .known("level", gpu.level)
        .known("basis", figures.basis.empty() ? "none" : figures.basis)
        .known("steps", figures.steps)
        .known("sampled", figures.is_known() && figures.sampled)
        .maybe("coverage", gpu.coverage, why)
        .maybe("steps_coverage", gpu.steps_coverage, gpu.busy ? "no step was timed as a whole" : why)
        .maybe("open_share", gpu.open_share, why)
        .maybe("inferred_share", gpu.inferred_share, why)
        .maybe("timed_share", gpu.timed_share, why);
    return facts.json();
}

// 34.0 % ±0.6; 34.0 % (20.0–35.0) where one side is much wider, or ± would go beyond what a share can be.
std::string range_text(const ShareRange& range) {
    const double share = 100 * range.share, low = 100 * range.low, high = 100 * range.high;
    const double less = share - low, more = high - share, off = std::max(less, more);
    char text[64];
    if (off < 0.05)
        std::snprintf(text, sizeof text, "%.1f %%", share);
    else if (off > 2 * std::min(less, more) + 0.5 || off > share || off > 100 - share)
        std::snprintf(text, sizeof text, "%.1f %% (%.1f–%.1f)", share, low, high);
    else
        std::snprintf(text, sizeof text, "%.1f %% ±%.1f", share, off);
    return text;
}

// No fractions of a nanosecond.
std::string per_step_text(const GpuFigures& figures, int64_t ns) {
    return duration_text(std::round(static_cast<double>(ns) / static_cast<double>(figures.steps)));
}

// "12.0 ms  60.0 %": of a step, and of all. Steps of which most are much shorter than what they launch have
// no such time each, if the few in which the host waits are not as frequent among those that were timed.
std::string part_text(const GpuFigures& figures, int64_t ns, bool has_lengths) {
    const std::string share = percent_text(figures.of_window(ns));
    if (!has_lengths) return share;
    return per_step_text(figures, ns) + "  " + share;
}

std::string run_text(const Gpu& gpu) {
    if (gpu.busy)
        return range_text(
            {*gpu.busy, gpu.likely_low.value_or(*gpu.busy), gpu.likely_high.value_or(*gpu.busy)});
    if (!gpu.high) return "not recorded";
    const std::string most = percent_text(*gpu.high);
    return gpu.low.value_or(0) > 0 ? percent_text(*gpu.low) + " to " + most : "at most " + most;
}

bool has_lengths(const GpuFigures& figures, const ShownSteps& steps) {
    constexpr double kApart = 0.25;
    if (figures.basis != "steps" || steps.ahead_work_ns) return false;
    const auto mean_ns = static_cast<double>(steps.mean_ns.value_or(0));
    const double timed_ns = static_cast<double>(figures.window_ns) / static_cast<double>(figures.steps);
    return !steps.host_ahead || std::abs(timed_ns - mean_ns) <= kApart * mean_ns;
}

std::vector<std::string> row_of(const GpuFigures& figures, const Gpu& gpu, const ShownSteps& steps) {
    if (!figures.is_known()) return {figures.label.text, "-", "-", "-", run_text(gpu), gpu.level};
    const std::string idle = range_text(figures.idle());
    const bool of_step = has_lengths(figures, steps);
    return {figures.label.text,
            part_text(figures, figures.productive_ns, of_step),
            figures.knows_waits() ? part_text(figures, figures.waiting_ns, of_step) : "not known",
            (of_step ? per_step_text(figures, figures.idle_ns) + "  " : "") + idle,
            run_text(gpu),
            figures.basis == "steps" ? count_text(figures.steps) + (figures.steps == 1 ? " step" : " steps")
                                     : figures.basis};
}

void write_parts(const std::vector<GpuFigures>& all, Report& report) {
    const auto shares = mean_shares(all);
    if (!shares) return;
    const auto part = [](double share) {
        char text[16];
        std::snprintf(text, sizeof text, "%.1f", 100 * share);
        return std::string(text);
    };
    const std::string of_comm =
        shares->knows_waits()
            ? "waiting for peers " + part(shares->waiting) + " + exposed comm " + part(shares->exposed)
            : "exposed comm, waits included, " + part(shares->waiting + shares->exposed);
    report.line("SHARES     productive " + part(shares->productive) + " + " + of_comm + " + memory " +
                part(shares->memory) + " + idle " + part(shares->idle) + " %" +
                (shares->gpus > 1 ? ", mean of " + count_text(shares->gpus) + " GPUs" : ""));
    if (!shares->knows_waits()) report.line("           " + shares->wait_why);
}

// A straggler loses least itself, so its row would be the last: it is the last of those that always are.
void show_straggler(const ReportSource& source, std::vector<GpuFigures>& all) {
    Query row = source.run.prepare(
        "SELECT straggler_rank FROM skew WHERE straggler_rank IS NOT NULL"
        " ORDER BY coalesce(lost_gpu_ns, 0) DESC");
    if (!row.step() || all.size() <= kAlwaysShown + 1) return;
    const auto hidden = all.begin() + kAlwaysShown;
    const auto found = std::find_if(hidden, all.end(),
                                    [&](const GpuFigures& one) { return one.label.rank == row.number(0); });
    if (found != all.end()) std::rotate(hidden - 1, found, found + 1);
}

// How many operations have times, and how much of the time the others ran, or can have been all that did.
std::string mark_of(const GpuFigures& figures, const Gpu& gpu) {
    std::string text = "  of the operations of " + figures.label.text + " in timed spans " +
                       percent_text(*gpu.coverage) + " have device times";
    if (gpu.steps_coverage) text += ", of those in steps " + percent_text(*gpu.steps_coverage);
    if (!figures.is_known() || !gpu.open_share) return text;
    const double inferred = gpu.inferred_share.value_or(0);
    if (inferred > 0)
        text += "; the others took " + percent_text(inferred) + " of that time (inferred), and at most " +
                percent_text(*gpu.open_share) + " more alone";
    else
        text += "; the others ran alone for at most " + percent_text(*gpu.open_share) + " of that time";
    return text;
}

void write(const ReportSource& source, Report& report) {
    const std::map<int64_t, Gpu> rows = rows_of(source.run);
    std::vector<std::vector<std::string>> table = {
        {"GPU", "productive", "waiting for peer", "idle", "busy, whole run", "known from"}};
    std::map<int64_t, Json> by_id;
    std::string why;
    std::vector<std::string> marks;
    std::vector<GpuFigures> all = gpu_figures(source);
    show_straggler(source, all);
    for (const GpuFigures& figures : all) {
        const Gpu& gpu = rows.at(figures.gpu_id);
        table.push_back(row_of(figures, gpu, step_figures(source)));
        if (!figures.is_known() && why.empty())
            why =
                (gpu.is_unused ? "  " : "  not known for ") + figures.label.text + ": " + why_of(gpu, source);
        if (!gpu.is_unused && gpu.coverage && gpu.covered() < kMarkedCoverage)
            marks.push_back(mark_of(figures, gpu));
        by_id[figures.gpu_id] = json_of(figures, gpu, source);
    }
    Json list = Json::array();
    for (auto& [id, json] : by_id) list.push(std::move(json));
    report.json.set("gpus", std::move(list));
    if (table.size() == 1) return;
    report.table("lrrrrl", std::move(table), kMostRows).least = kFewestRows;
    if (source.options.all) write_parts(all, report);
    if (!why.empty()) report.line(why);
    for (size_t i = 0; i < marks.size() && i < kMostMarks; ++i) report.line(marks[i]);
}

constexpr Section kSection = {"gpus", write};
const SectionRegistration kRegistration(kSection);

}  // namespace

}  // namespace gpushim::analysis::section_gpus
