// What each GPU did with its time, and why it was idle.
#include <algorithm>
#include <map>

#include "../chart/page.h"
#include "../chart/stacked_bars.h"
#include "../chart/table.h"
#include "../report/facts.h"
#include "../text/units.h"
#include "../to_int64.h"
#include "figures.h"
#include "part.h"
#include "time_parts.h"

namespace gpushim::analysis::part_gpus {

namespace {

constexpr size_t kMostBars = 24, kMostRows = 100;

struct Gpu {
    std::string label;
    const Json* json;
    double steps;  // 0: shares only
};

std::vector<Gpu> gpus_of(const PageInput& input) {
    const GpuNames names(input.source.run);
    std::vector<Gpu> all;
    for (const Json& gpu : input.of("gpus").items()) {
        const bool of_steps = gpu["basis"].words() == "steps";
        all.push_back({names.of(gpu), &gpu, of_steps ? gpu["steps"].amount().value_or(0) : 0});
    }
    return all;
}

// All of them in their order; of too many those on which most is lost.
std::vector<Gpu> drawn_of(const std::vector<Gpu>& gpus) {
    if (gpus.size() <= kMostBars) return gpus;
    const auto productive = [](const Gpu& gpu) {
        return (*gpu.json)["productive_share"].amount().value_or(2);
    };
    std::vector<Gpu> all = gpus;
    std::stable_sort(all.begin(), all.end(),
                     [&](const Gpu& a, const Gpu& b) { return productive(a) < productive(b); });
    all.resize(kMostBars);
    return all;
}

std::string rest_text(size_t shown, size_t all, const char* what) {
    if (shown == all) return "";
    return "The " + std::to_string(shown) + " of " + std::to_string(all) + " GPUs that lose the most; " +
           what;
}

Markup shares_of(const PageInput& input, const std::vector<Gpu>& gpus) {
    StackedBars chart;
    chart.words = {"gpu-time", "What each GPU did with its time",
                   "A bar for each GPU: productive, waiting for other ranks inside a collective, exposed "
                   "communication, copies and memsets alone, idle."};
    const bool of_steps = !gpus.empty() && gpus[0].steps > 0;
    chart.x = {of_steps ? "of whole timed steps" : "of all that was timed", share_axis};
    chart.parts = {{"productive", kComputeColour},
                   {"waiting for peers", kPeerColour},
                   {"exposed communication", kExposedColour},
                   {"communication, waits not known", kUntoldColour},
                   {"memory", kMemoryColour},
                   {"idle", kIdleColour}};
    const auto untold = unknown_waits(input.source.run);
    for (const Gpu& gpu : gpus) {
        const auto productive = (*gpu.json)["productive_share"].amount();
        if (!productive) continue;
        const auto share = [&](const char* name) { return (*gpu.json)[name].amount().value_or(0); };
        const double waiting = share("waiting_for_peer_share"), memory = share("memory_share");
        const double idle = share("idle_share");
        const double exposed = std::max(0.0, 1 - *productive - waiting - memory - idle);
        const bool is_untold = untold.contains(to_int64((*gpu.json)["gpu_id"].amount().value_or(-1)));
        chart.bars.push_back(
            {gpu.label,
             {*productive, waiting, is_untold ? 0 : exposed, is_untold ? exposed : 0, memory, idle}});
    }
    return chart.bars.empty() ? Markup() : figure(chart.words, stacked_bars(chart));
}

std::map<std::string, double> idle_by_group(const Json& gpu,
                                            const std::map<std::string, std::string>& groups) {
    std::map<std::string, double> sums;
    const Json& causes = gpu["idle_by_cause_ns"];
    for (const std::string& cause : causes.keys()) {
        const auto group = groups.find(cause);
        sums[group == groups.end() ? name_of(CauseGroup::other) : group->second] +=
            causes[cause].amount().value_or(0);
    }
    return sums;
}

std::map<std::string, std::string> cause_groups(const Database& run) {
    std::map<std::string, std::string> groups;
    Query rows = run.prepare("SELECT cause, cause_group FROM idle_cause");
    while (rows.step()) groups[rows.text(0)] = rows.text(1);
    return groups;
}

// "of a step, mean of 709": GPUs of several ranks may have been timed in more and in fewer steps.
std::string mean_text(const std::vector<Gpu>& gpus) {
    const bool are_alike = std::all_of(gpus.begin(), gpus.end(),
                                       [&](const Gpu& gpu) { return gpu.steps == gpus.front().steps; });
    return "of a step, mean of " + (are_alike ? count_axis(gpus.front().steps) : std::string("its")) +
           " timed steps";
}

Markup idle_of(const std::vector<Gpu>& gpus, const Database& run) {
    const auto groups = cause_groups(run);
    const bool of_steps = !gpus.empty() && gpus[0].steps > 0;
    StackedBars chart;
    chart.words = {
        "gpu-idle", of_steps ? "Idle time of a step, by cause" : "Idle time, by cause",
        "A bar for each GPU: its idle time by what it waited for. The causes add up to the idle time."};
    chart.x = {of_steps ? mean_text(gpus) : "of all that was timed", of_steps ? duration_text : share_axis};
    for (size_t i = 0; i < std::size(kCauseGroups); ++i)
        chart.parts.push_back({kCauseGroups[i], kColourOfGroup[i]});
    for (const Gpu& gpu : gpus) {
        const double whole = of_steps ? gpu.steps : (*gpu.json)["window_ns"].amount().value_or(0);
        if ((*gpu.json)["idle_by_cause_ns"].is_null() || whole <= 0) continue;
        StackedBars::Bar bar = {gpu.label, {}};
        const auto sums = idle_by_group(*gpu.json, groups);
        for (const char* group : kCauseGroups) {
            const auto sum = sums.find(group);
            bar.values.push_back(sum == sums.end() ? 0 : sum->second / whole);
        }
        chart.bars.push_back(bar);
    }
    return chart.bars.empty() ? Markup() : figure(chart.words, stacked_bars(chart));
}

TableCell share_cell(const Json& gpu, const std::string& key) {
    const auto bound = [&](const char* side) {
        const auto likely = gpu[key + "_likely" + side].amount();
        return likely ? likely : gpu[key + side].amount();
    };
    const auto share = gpu[key].amount(), low = bound("_low"), high = bound("_high");
    if (!share) return {kNotThere};
    std::string text = percent_text(*share);
    if (low && high && *high - *low >= 0.001)
        text += " (" + percent_text(*low) + " to " + percent_text(*high) + ")";
    return {text, *share};
}

Markup table_of(const std::vector<Gpu>& gpus) {
    PageTable rows = {"GPUs",
                      "lrrrrrrrl",
                      {"GPU", "productive", "waiting for peers", "memory", "idle", "busy, whole run",
                       "communication exposed", "steps", "known by"},
                      {},
                      ""};
    if (gpus.size() > kMostRows)
        rows.rest = "The first " + std::to_string(kMostRows) + " of " + std::to_string(gpus.size()) +
                    " GPUs; report --json has all of them.";
    for (const Gpu& gpu : gpus) {
        if (rows.rows.size() == kMostRows) break;
        const Json& json = *gpu.json;
        const double steps = json["steps"].amount().value_or(0);
        const auto exposed = json["exposed_comm_ns"].amount();
        rows.rows.push_back({gpu.label, share_cell(json, "productive_share"),
                             share_cell(json, "waiting_for_peer_share"), share_cell(json, "memory_share"),
                             share_cell(json, "idle_share"), share_cell(json, "run_busy_share"),
                             exposed && gpu.steps > 0
                                 ? TableCell(duration_text(*exposed / steps), *exposed / steps)
                                 : TableCell(kNotThere),
                             TableCell(count_axis(steps), steps), json["level"].words()});
    }
    return table(rows);
}

// Of which GPUs no bound is certain.
Markup estimates_of(const std::vector<Gpu>& gpus) {
    const auto count = std::count_if(gpus.begin(), gpus.end(), [](const Gpu& gpu) {
        return (*gpu.json)["bounds"].words() == "estimates";
    });
    if (count == 0) return Markup();
    const std::string whose = gpus.size() == 1                            ? "this GPU was"
                              : static_cast<size_t>(count) == gpus.size() ? "these GPUs were"
                              : count == 1                                ? "one of these GPUs was"
                                           : std::to_string(count) + " of these GPUs were";
    return paragraph("Bounds of busy and idle time are estimates: " + whose + " never calibrated.", "rest");
}

// Where nobody recorded what ran in a graph, its idle time is in no cause.
Markup graphs_of(const PageInput& input) {
    Query row = input.source.run.prepare("SELECT coalesce(sum(graph_launches), 0) FROM kernel");
    if (is_imported(input.report) || !row.step() || row.number(0) == 0) return {};
    return paragraph(
        "A launch of a graph is busy from its begin to its end: gaps between the operations in it are not "
        "told apart from them, and have no cause here.",
        "rest");
}

Markup write(const PageInput& input) {
    const std::vector<Gpu> gpus = gpus_of(input);
    if (gpus.empty()) return missing("no GPU was used");
    const std::vector<Gpu> drawn = drawn_of(gpus);
    Markup all = shares_of(input, drawn);
    if (all.empty()) all += missing(why_of(*gpus[0].json, "productive_share"));
    all += idle_of(drawn, input.source.run);
    const std::string rest = rest_text(drawn.size(), gpus.size(), "the table has more.");
    if (!rest.empty()) all += paragraph(rest, "rest");
    all += estimates_of(gpus);
    all += graphs_of(input);
    all += folded("As a table, with the ranges of the shares", table_of(gpus));
    return all;
}

constexpr ReportPart kPart = {"gpus", "GPUs", write};
const ReportPartRegistration kRegistration(kPart);

}  // namespace

}  // namespace gpushim::analysis::part_gpus
