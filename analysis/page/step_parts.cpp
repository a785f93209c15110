// What each step consisted of, GPU by GPU, as it went on; and of each rank how much of its communication ran
// beside its computation. Figures: v_gpu_counted and gap, which the GPUs' section sums.
#include <algorithm>
#include <map>

#include "../chart/column_chart.h"
#include "../chart/page.h"
#include "../chart/stacked_bars.h"
#include "../chart/table.h"
#include "../report/gpu_label.h"
#include "../text/units.h"
#include "../to_int64.h"
#include "figures.h"
#include "part.h"
#include "time_parts.h"

namespace gpushim::analysis::part_step_parts {

namespace {

constexpr int64_t kMostColumns = 100;
constexpr size_t kMostGraphs = 8, kMostWorkers = 24;

struct Column {
    int64_t steps = 0;
    std::vector<double> sums;  // by part
};

struct Gpu {
    std::string label;
    bool waits_are_known = true;
    std::map<int64_t, Column> columns;
    double steps = 0, compute = 0, overlap = 0, comm = 0, window = 0;  // sums

    std::vector<double> means() const {
        std::vector<double> all(time_parts().size(), 0);
        for (const auto& [nth, column] : columns)
            for (size_t i = 0; i < all.size(); ++i) all[i] += column.sums[i] / steps;
        return all;
    }
    double productive_share() const { return (compute + overlap) / std::max(window, 1.0); }
};

struct Columns {
    int64_t first = 0, width = 1;
};

std::optional<Columns> columns_of(const ReportSource& source) {
    Query span = source.of_steps(
        "SELECT min(number), max(number) FROM v_gpu_basis WHERE basis = 'steps'"
        " AND number BETWEEN ?1 AND ?2");
    if (!span.step() || span.is_null(0)) return std::nullopt;
    const int64_t steps = span.number(1) - span.number(0) + 1;
    return Columns{span.number(0), (steps + kMostColumns - 1) / kMostColumns};
}

// Those whose shares the report has: of others it says why not.
std::map<int64_t, Gpu> known_gpus(const PageInput& input) {
    const auto labels = gpu_labels(input.source.run);
    const auto unknown = unknown_waits(input.source.run);
    std::map<int64_t, Gpu> all;
    for (const Json& gpu : input.of("gpus").items()) {
        const auto id = to_int64(gpu["gpu_id"].amount().value_or(-1));
        if (gpu["productive_share"].is_null() || gpu["basis"].words() != "steps" || !labels.contains(id))
            continue;
        all[id].label = labels.at(id).text;
        all[id].waits_are_known = !unknown.contains(id);
    }
    return all;
}

Query in_columns(const ReportSource& source, const Columns& columns, const char* sql) {
    Query rows = source.of_steps(sql);
    rows.bind(3, columns.first);
    rows.bind(4, columns.width);
    return rows;
}

void read_busy(const ReportSource& source, const Columns& columns, std::map<int64_t, Gpu>& gpus) {
    Query rows = in_columns(
        source, columns,
        "SELECT gpu_id, (number - ?3) / ?4, count(*), sum(productive_ns), sum(waiting_for_peer_ns),"
        " sum(exposed_transfer_ns), sum(memory_ns), sum(comm_ns), sum(window_ns) FROM v_gpu_counted"
        " WHERE basis = 'steps' AND number BETWEEN ?1 AND ?2 GROUP BY 1, 2");
    while (rows.step()) {
        const auto found = gpus.find(rows.number(0));
        if (found == gpus.end()) continue;
        Gpu& gpu = found->second;
        Column& column = gpu.columns[rows.number(1)];
        column = {rows.number(2), std::vector<double>(time_parts().size(), 0)};
        const double exposed = rows.real(4) + rows.real(5);  // no computation beside it
        column.sums[kComputePart] = rows.real(3);
        column.sums[kMemoryPart] = rows.real(6);
        column.sums[kPeerPart] = gpu.waits_are_known ? rows.real(4) : 0;
        column.sums[kExposedPart] = gpu.waits_are_known ? rows.real(5) : 0;
        column.sums[kUntoldPart] = gpu.waits_are_known ? 0 : exposed;
        gpu.steps += rows.real(2);
        gpu.comm += exposed;
        gpu.overlap += rows.real(7) - exposed;
        gpu.compute += rows.real(3) - (rows.real(7) - exposed);
        gpu.window += rows.real(8);
    }
}

void read_idle(const ReportSource& source, const Columns& columns, std::map<int64_t, Gpu>& gpus) {
    Query rows = in_columns(source, columns,
                            "SELECT b.gpu_id, (b.number - ?3) / ?4, coalesce(c.cause_group, ''), sum(p.ns)"
                            " FROM v_gpu_basis b JOIN gap p ON p.gpu_id = b.gpu_id AND p.step = b.step"
                            " LEFT JOIN idle_cause c ON c.cause = p.cause"
                            " WHERE b.basis = 'steps' AND b.number BETWEEN ?1 AND ?2 GROUP BY 1, 2, 3");
    while (rows.step()) {
        const auto gpu = gpus.find(rows.number(0));
        if (gpu == gpus.end()) continue;
        // Idle time of steps that are not counted is of no column.
        const auto column = gpu->second.columns.find(rows.number(1));
        if (column == gpu->second.columns.end()) continue;
        column->second.sums[part_of_group(rows.text(2))] += rows.real(3);
    }
}

// By rank; of too many those on which most is lost.
std::vector<Gpu> drawn_of(const std::map<int64_t, Gpu>& gpus, size_t most) {
    std::vector<Gpu> all;
    for (const auto& [id, gpu] : gpus)
        if (gpu.steps > 0) all.push_back(gpu);
    if (all.size() <= most) return all;
    std::stable_sort(all.begin(), all.end(),
                     [](const Gpu& a, const Gpu& b) { return a.productive_share() < b.productive_share(); });
    all.resize(most);
    return all;
}

ColumnChart graph_of(const Gpu& gpu, size_t nth, const Columns& columns) {
    ColumnChart chart;
    chart.words = {"step-parts-" + std::to_string(nth),
                   "Step time of " + gpu.label + ", by what it was spent on",
                   "A column for each step of " + gpu.label +
                       ": compute, waiting for peers, exposed communication, memory, and idle time by the "
                       "group of its cause. The parts add up to the step."};
    chart.x = {"step", count_axis, false, false, false, true};
    chart.y = {"", duration_text, false, true};
    chart.parts = time_parts();
    for (const auto& [at, column] : gpu.columns) {
        const int64_t first = columns.first + at * columns.width, last = first + columns.width - 1;
        ColumnChart::Column drawn = {first == last
                                         ? "step " + std::to_string(first)
                                         : "mean of " + std::to_string(column.steps) + " of steps " +
                                               std::to_string(first) + "-" + std::to_string(last),
                                     static_cast<double>(first) - 0.5,
                                     static_cast<double>(last) + 0.5,
                                     {}};
        for (const double sum : column.sums) drawn.values.push_back(sum / static_cast<double>(column.steps));
        chart.columns.push_back(std::move(drawn));
    }
    return chart;
}

PageTable table_of(const std::vector<Gpu>& gpus) {
    const std::vector<LegendEntry> parts = time_parts();
    PageTable rows = {"What a step consists of", "lr", {"GPU", "step"}, {}, ""};
    std::vector<size_t> used;
    for (size_t i = 0; i < parts.size(); ++i)
        if (std::any_of(gpus.begin(), gpus.end(), [&](const Gpu& gpu) { return gpu.means()[i] > 0; }))
            used.push_back(i);
    for (const size_t part : used) rows.headings.push_back(parts[part].name), rows.alignment += 'r';
    for (const Gpu& gpu : gpus) {
        const std::vector<double> means = gpu.means();
        const double step = gpu.window / gpu.steps;
        std::vector<TableCell> cells = {gpu.label, TableCell(duration_text(step), step)};
        for (const size_t part : used) {
            const bool is_untold = !gpu.waits_are_known && (part == kPeerPart || part == kExposedPart);
            cells.push_back(is_untold ? TableCell(kNotThere)
                                      : TableCell(duration_text(means[part]), means[part]));
        }
        rows.rows.push_back(std::move(cells));
    }
    return rows;
}

Markup graphs_of(const std::map<int64_t, Gpu>& gpus, const Columns& columns) {
    const std::vector<Gpu> drawn = drawn_of(gpus, kMostGraphs);
    std::vector<ColumnChart> charts;
    double most = 0;
    for (const Gpu& gpu : drawn) {
        charts.push_back(graph_of(gpu, charts.size(), columns));
        for (const ColumnChart::Column& column : charts.back().columns) {
            double sum = 0;
            for (const double value : column.values) sum += value;
            most = std::max(most, sum);
        }
    }
    Markup all = legend_of(charts);
    for (ColumnChart& chart : charts) {
        chart.most = most;
        all += figure(chart.words, column_chart(chart));
    }
    if (columns.width > 1)
        all +=
            paragraph("A column is the mean of up to " + std::to_string(columns.width) + " steps.", "rest");
    if (drawn.size() < gpus.size())
        all += paragraph("The " + std::to_string(drawn.size()) + " of " + std::to_string(gpus.size()) +
                             " GPUs that lose the most.",
                         "rest");
    all += folded("Means as a table", table(table_of(drawn)));
    return all;
}

Markup workers_of(const std::map<int64_t, Gpu>& gpus) {
    StackedBars chart;
    chart.words = {
        "workers", "Computation and communication of each rank",
        "A bar for each GPU, the mean of its steps: computation alone, computation and communication "
        "at the same time, communication alone with its waits, and everything else."};
    chart.x = {"of a step, mean of its timed steps", duration_text};
    chart.parts = {{"computation", kComputeColour},
                   {"overlap", kOverlapColour},
                   {"communication", kExposedColour},
                   {"other", kOtherColour}};
    bool communicates = false;
    for (const Gpu& gpu : drawn_of(gpus, kMostWorkers)) {
        const double other = std::max(0.0, gpu.window - gpu.compute - gpu.overlap - gpu.comm);
        chart.bars.push_back(
            {gpu.label,
             {gpu.compute / gpu.steps, gpu.overlap / gpu.steps, gpu.comm / gpu.steps, other / gpu.steps}});
        communicates |= gpu.overlap + gpu.comm > 0;
    }
    return communicates ? figure(chart.words, stacked_bars(chart)) : Markup();
}

Markup write(const PageInput& input) {
    if (input.of("steps")["median_ns"].is_null()) return {};  // the part before says why
    const auto columns = columns_of(input.source);
    std::map<int64_t, Gpu> gpus = known_gpus(input);
    if (columns) {
        read_busy(input.source, *columns, gpus);
        read_idle(input.source, *columns, gpus);
    }
    std::erase_if(gpus, [](const auto& each) { return each.second.steps == 0; });
    if (gpus.empty()) return missing("no step was timed from beginning to end");
    Markup all = graphs_of(gpus, *columns);
    all += paragraph(
        std::string(is_imported(input.report) ? "" : "Steps are shown without gpushim's own events. ") +
            "A step has no column if it was not timed from beginning to end.",
        "rest");
    all += workers_of(gpus);
    return all;
}

constexpr ReportPart kPart = {"step-parts", "Where steps go", write};
const ReportPartRegistration kRegistration(kPart);

}  // namespace

}  // namespace gpushim::analysis::part_step_parts
