// Why GPUs were idle, by groups of causes, and what that and all else but computing costs: GPU-seconds, and
// money where a price is given.
#include <array>
#include <cstdio>

#include "../advice/unlike_sample.h"
#include "../idle/cause.h"
#include "../run/sql/idle_ranges.h"
#include "../run/sql/input_stages.h"
#include "../run/sql/python_places.h"
#include "../text/units.h"
#include "../to_int64.h"
#include "facts.h"
#include "gpu_figures.h"
#include "section.h"

namespace gpushim::analysis::section_idle {

namespace {

constexpr double kWorthLines = 0.01;  // of the time: less is not worth a reader's

// Means over GPUs: in ns of a step, or, where there are no steps, shares.
struct Idle {
    size_t gpus = 0;
    bool of_steps = true;
    std::map<std::string, double> by_group, by_cause;
    double sum = 0, drained = 0;
};

Idle idle_of(const std::vector<GpuFigures>& all) {
    Idle idle;
    const std::vector<const GpuFigures*> gpus = in_means(all);
    for (const GpuFigures* const gpu : gpus) idle.of_steps &= gpu->basis == "steps";
    for (const GpuFigures* const gpu : gpus) {
        const auto whole = static_cast<double>(idle.of_steps ? gpu->steps : gpu->window_ns);
        ++idle.gpus;
        for (const auto& [group, ns] : gpu->idle_by_group)
            idle.by_group[group] += static_cast<double>(ns) / whole;
        for (const auto& [cause, ns] : gpu->idle_by_cause)
            idle.by_cause[cause] += static_cast<double>(ns) / whole;
        idle.sum += static_cast<double>(gpu->idle_ns) / whole;
        idle.drained += static_cast<double>(gpu->drained_ns) / whole;
    }
    return idle;
}

// A GPU that several processes used.
struct Shared {
    int64_t shared_id;
    std::optional<double> idle_share;  // in which none of them used it
};

std::map<int64_t, Shared> shared_gpus(const Database& run) {  // by gpu_id
    std::map<int64_t, Shared> all;
    Query row = run.prepare(
        "SELECT gpu_id, shared_id, 1 - 1.0 * union_ns / known_ns FROM shared_gpu WHERE union_ns IS NOT NULL"
        " UNION ALL SELECT gpu_id, shared_id, NULL FROM shared_gpu WHERE union_ns IS NULL");
    while (row.step()) all[row.number(0)] = {row.number(1), maybe_real(row, 2)};
    return all;
}

struct Cost {
    double idle_ns = 0, gpu_ns = 0;                        // of all GPUs together, in the steps that count
    double waiting_ns = 0, exposed_ns = 0, memory_ns = 0;  // the same, of GPUs that no processes share
    bool knows_waits = true;                               // else they are part of what is exposed
    double gpus = 0;
    std::optional<double> price_per_hour;

    double hours_a_day(double ns) const { return gpus * 24 * ns / gpu_ns; }
    double lost_ns() const { return idle_ns + waiting_ns + exposed_ns + memory_ns; }
    void add(double ns, double idle_share) {
        gpus += 1;
        gpu_ns += ns;
        idle_ns += ns * idle_share;
    }
    void add(double ns, const GpuFigures& gpu) {
        add(ns, gpu.of_window(gpu.idle_ns));
        waiting_ns += ns * gpu.of_window(gpu.waiting_ns);
        exposed_ns += ns * gpu.of_window(gpu.exposed_transfer_ns);
        memory_ns += ns * gpu.of_window(gpu.memory_ns);
        knows_waits &= gpu.knows_waits();
    }
};

// Steps that were not timed are taken to be like those that were. A GPU of several processes counts once, and
// where it is not known how busy they kept it together, not at all.
Cost cost_of(const ReportSource& source, const std::vector<GpuFigures>& all) {
    Cost cost;
    const std::map<int64_t, Shared> shared = shared_gpus(source.run);
    std::map<int64_t, double> stepped_ns, run_ns, shared_ns;
    Query steps = source.of_steps(
        "SELECT rank_id, sum(dur_ns) FROM v_counted_step WHERE is_slice = 0 AND number BETWEEN ?1 AND ?2"
        " GROUP BY rank_id");
    while (steps.step()) stepped_ns[steps.number(0)] = steps.real(1);
    Query runs = source.run.prepare("SELECT gpu_id, run_ns FROM gpu");
    while (runs.step()) run_ns[runs.number(0)] = runs.real(1);
    for (const GpuFigures& gpu : all) {
        if (!gpu.is_known()) continue;
        const auto stepped = stepped_ns.find(gpu.label.rank_id);
        const double ns = stepped != stepped_ns.end() ? stepped->second : run_ns[gpu.gpu_id];
        if (const auto found = shared.find(gpu.gpu_id); found != shared.end())
            shared_ns[found->second.shared_id] = std::max(shared_ns[found->second.shared_id], ns);
        else
            cost.add(ns, gpu);
    }
    for (const auto& [id, ns] : shared_ns)
        if (const auto share = shared.at(id).idle_share) cost.add(ns, *share);
    cost.price_per_hour = source.options.price_per_gpu_hour;
    if (!cost.price_per_hour) cost.price_per_hour = source.real("price_per_gpu_hour");
    return cost;
}

void write_causes(const Idle& idle, bool by_process, Report& report) {
    constexpr double kShortNs = 1e5;  // two digits behind a ms are too few
    const bool is_short = idle.sum < kShortNs * static_cast<double>(idle.gpus);
    const double each = 1 / static_cast<double>(idle.gpus) * (!idle.of_steps ? 100 : is_short ? 1e-3 : 1e-6);
    const char* const unit = !idle.of_steps ? " %" : is_short ? " us" : " ms";
    // Digits that nobody reads make the line too long.
    const bool is_long = idle.sum * each >= 100;
    const char* const format = is_long ? "%.1f" : "%.2f";
    const double least = is_long ? 0.05 : 0.005;
    std::string text;
    int groups = 0;
    for (const char* group : kCauseGroups) {
        const auto found = idle.by_group.find(group);
        if (found == idle.by_group.end() || found->second * each < least) continue;
        ++groups;
        text += (text.empty() ? "" : " + ") + std::string(group) + " " +
                figure_text(format, found->second * each);
    }
    const std::string nothing = idle.sum > 0 ? std::string("below 0.01") + unit : "never";
    report.line("IDLE       " +
                (text.empty() ? nothing
                 : groups > 1 ? text + " = " + figure_text(format, idle.sum * each) + unit
                              : text + unit) +
                (idle.gpus > 1
                     ? ", mean of " + std::to_string(idle.gpus) + (by_process ? " processes" : " GPUs")
                     : ""));
    std::string largest;
    double most = 0;
    for (const auto& [cause, sum] : idle.by_cause)
        if (sum > most) {
            most = sum;
            largest = cause;
        }
    if (most * each >= least)
        report.line("           most " + largest + " " + figure_text(format, most * each) + unit + " (" +
                    std::string(said_of(largest)) + ")" +
                    (idle.drained * each >= least
                         ? "; " + figure_text(format, idle.drained * each) + unit + " after waits"
                         : ""));
}

// What lines and ranges are shares of: they are summed up over all steps that count.
std::string idle_time(const ReportSource& source) {
    return source.is_part_of_run() ? "idle time of the whole run" : "idle time";
}

// Null where nothing is known: the program is no Python's, or its lines were not sampled.
void write_python(const ReportSource& source, Report& report) {
    constexpr int64_t kMostPlaces = 5;
    constexpr double kWorthALine = 0.05;
    const auto places = python_places(source.run.raw(), nullptr, kMostPlaces);
    Json all = Json::array();
    std::string text;
    int told = 0;
    for (PythonPlace place : places) {
        const std::string inside = source.json_name("function", place.inside);
        all.push(Facts()
                     .known("file", source.json_name("path", place.file))
                     .known("function", source.json_name("function", place.function))
                     .maybe("line", place.line, "the interpreter told none")
                     .known("idle_share", place.idle_share)
                     .known("samples", place.samples)
                     .known("of_samples", place.of_samples)
                     .maybe("inside", place.inside.empty() ? std::nullopt : std::optional(inside),
                            "it called into no library, or into several places of them")
                     .json());
        if (told == 2 || place.idle_share < kWorthALine) continue;
        if (source.options.redact) {
            place.file = source.name("path", place.file);
            place.function = source.name("function", place.function);
            place.inside.clear();
        }
        text += (told++ == 0 ? "" : ", ") + figure_text("%.0f", 100 * place.idle_share) + " % " +
                place.name() + place.inside_text() + ", " + place.count_text();
    }
    report.json.set("idle_python", places.empty() ? Json() : std::move(all));
    if (places.empty())
        report.json.set(
            "idle_python_why",
            source.text("python_refused").value_or("no lines of Python were sampled while GPUs were idle"));
    if (!text.empty()) report.line("           by samples of Python, of " + idle_time(source) + ": " + text);
}

// Null where the program made no ranges, or was in none.
void write_ranges(const ReportSource& source, Report& report) {
    constexpr int64_t kMostRanges = 10;
    constexpr int kMostWords = 3;
    constexpr double kWorthAWord = 0.05;
    const auto ranges = idle_ranges(source.run.raw(), nullptr, kMostRanges);
    Json all = Json::array();
    std::string text;
    int told = 0;
    for (const IdleRange& range : ranges) {
        all.push(
            Facts()
                .maybe("domain",
                       range.domain ? std::optional(source.json_name("domain", *range.domain)) : std::nullopt,
                       "the default one, or not NVTX")
                .known("name", source.json_name("range", range.name))
                .known("idle_share", range.idle_share)
                .json());
        if (told == kMostWords || range.idle_share < kWorthAWord) continue;
        text += (told++ == 0 ? "" : ", ") + figure_text("%.0f", 100 * range.idle_share) + " % " +
                source.name("range", range.name);
    }
    report.json.set("idle_ranges", ranges.empty() ? Json() : std::move(all));
    if (ranges.empty())
        report.json.set("idle_ranges_why",
                        "no range of the program was open on the threads that GPUs waited for");
    if (!text.empty())
        report.line("           by the program's ranges, of " + idle_time(source) + ": " + text);
}

// Null where GPUs did not wait for input, or nothing tells at what the loader was.
void write_input_stages(const ReportSource& source, Report& report) {
    const auto stages = input_stages(source.run.raw());
    Json all = Json::array();
    for (const InputStage& one : stages)
        all.push(Facts().known("stage", name_of(one.stage)).known("idle_input_share", one.share).json());
    report.json.set("input_stages", stages.empty() ? Json() : std::move(all));
    if (stages.empty())
        report.json.set("input_stages_why",
                        "GPUs did not wait for input, or nothing tells in which stage of loading it was");
}

void write_gpu_seconds(const Cost& cost, Report& report) {
    report.line("           " + figure_text("%.1f", cost.idle_ns / 1e9) + " of " +
                figure_text("%.1f", cost.gpu_ns / 1e9) + " GPU-seconds");
}

// An hour of a GPU is an hour, whatever it did in place of computing.
void write_lost(const Cost& cost, Report& report) {
    const auto hours = [&](double ns) { return figure_text("%.1f", cost.hours_a_day(ns)); };
    const std::string of_comm =
        cost.knows_waits
            ? " + waiting " + hours(cost.waiting_ns) + " + exposed comm " + hours(cost.exposed_ns)
            : " + exposed comm, waits included, " + hours(cost.waiting_ns + cost.exposed_ns);
    const double lost = cost.hours_a_day(cost.lost_ns());
    report.line(
        "LOST       idle " + hours(cost.idle_ns) + of_comm + " + memory " + hours(cost.memory_ns) + " = " +
        figure_text("%.1f", lost) + " of " + figure_text("%.0f", 24 * cost.gpus) + " GPU-hours" +
        (cost.price_per_hour ? " or $" + figure_text("%.2f", lost * *cost.price_per_hour) : "") + " a day");
}

Json json_of(const Cost& cost, size_t known) {
    const char* const none = "no GPU's idle time is known, or what is known is not like the rest of the run";
    const auto known_of = [&](double value) {
        return known != 0 && cost.gpu_ns > 0 ? std::optional(value) : std::nullopt;
    };
    const auto hours_of = [&](double ns) { return known_of(cost.gpu_ns > 0 ? cost.hours_a_day(ns) : 0); };
    const auto money_of = [&](double ns) {
        const auto hours = hours_of(ns);
        return hours && cost.price_per_hour ? std::optional(*hours * *cost.price_per_hour) : std::nullopt;
    };
    const auto if_waits = [&](double ns) { return cost.knows_waits ? hours_of(ns) : std::nullopt; };
    const char* const no_price = cost.price_per_hour ? none : "--price was not given";
    const char* const no_waits = cost.knows_waits ? none : "how long GPUs waited for each other is not known";
    return Facts()
        .maybe("idle_gpu_ns", to_int64(known_of(cost.idle_ns)), none)
        .maybe("gpu_ns", to_int64(known_of(cost.gpu_ns)), none)
        .maybe("idle_gpu_hours_per_day", hours_of(cost.idle_ns), none)
        .maybe("waiting_gpu_hours_per_day", if_waits(cost.waiting_ns), no_waits)
        .maybe("exposed_comm_gpu_hours_per_day", if_waits(cost.exposed_ns), no_waits)
        .maybe("memory_gpu_hours_per_day", hours_of(cost.memory_ns), none)
        .maybe("lost_gpu_hours_per_day", hours_of(cost.lost_ns()), none)
        .maybe("price_per_gpu_hour", cost.price_per_hour, "--price was not given")
        .maybe("idle_price_per_day", money_of(cost.idle_ns), no_price)
        .maybe("lost_price_per_day", money_of(cost.lost_ns()), no_price)
        .json();
}

void write(const ReportSource& source, Report& report) {
    const std::vector<GpuFigures>& all = gpu_figures(source);
    const Idle idle = idle_of(all);
    const Cost cost = cost_of(source, all);
    const bool is_sample = !unlike_sample(source.run.raw());
    report.json.set("cost", json_of(cost, is_sample ? idle.gpus : 0));
    Report told;
    write_ranges(source, told);
    write_python(source, told);
    write_input_stages(source, report);
    const auto shares = mean_shares(all);
    const bool is_worth_lines = source.options.all || (shares && shares->idle >= kWorthLines);
    if (idle.gpus != 0 && is_worth_lines) write_causes(idle, !shared_gpus(source.run).empty(), report);
    if (!is_worth_lines) told.blocks.clear();
    report.add(std::move(told));
    if (idle.gpus == 0 || cost.gpu_ns <= 0 || !is_sample) return;
    if (source.options.all) write_gpu_seconds(cost, report);
    if (cost.lost_ns() >= kWorthLines * cost.gpu_ns || source.options.all) write_lost(cost, report);
}

constexpr Section kSection = {"idle", write};
const SectionRegistration kRegistration(kSection);

}  // namespace

}  // namespace gpushim::analysis::section_idle
