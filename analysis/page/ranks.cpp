// Ranks beside each other, step by step: how much own work each had, and how long it waited for the others.
#include <algorithm>
#include <cmath>
#include <map>

#include "../chart/heat_map.h"
#include "../chart/page.h"
#include "../chart/table.h"
#include "../report/gpu_label.h"
#include "../text/units.h"
#include "compared.h"
#include "figures.h"
#include "part.h"
#include "time_parts.h"

namespace gpushim::analysis::part_ranks {

namespace {

constexpr int64_t kMostColumns = 120;
constexpr size_t kMostRows = 64, kMostTableRows = 200;

struct OfGpu {
    GpuLabel label;
    std::vector<double> own, wait;  // by column, means of its steps
};

struct Columns {
    int64_t first = 0, width = 1;
    size_t count = 0;

    std::string name(size_t column) const {
        return std::to_string(first + static_cast<int64_t>(column) * width);
    }
};

Columns columns_of(const ReportSource& source) {
    Query span = source.of_steps(
        "SELECT min(number), max(number) FROM v_gpu_basis WHERE basis = 'steps' AND number BETWEEN ?1 AND "
        "?2");
    Columns columns;
    if (!span.step() || span.is_null(0)) return columns;
    const int64_t steps = span.number(1) - span.number(0) + 1;
    columns.first = span.number(0);
    columns.width = (steps + kMostColumns - 1) / kMostColumns;
    columns.count = static_cast<size_t>((steps + columns.width - 1) / columns.width);
    return columns;
}

std::vector<OfGpu> gpus_of(const ReportSource& source, const Columns& columns) {
    std::map<int64_t, OfGpu> by_id;
    for (const auto& [gpu_id, label] : gpu_labels(source.run))
        by_id[gpu_id] = {label, std::vector<double>(columns.count, kUnknown),
                         std::vector<double>(columns.count, kUnknown)};
    Query rows = source.of_steps(
        "SELECT b.gpu_id, (b.number - ?3) / ?4, avg(g.own_work_ns), avg(g.window_ns - g.own_work_ns)"
        " FROM v_gpu_basis b JOIN gpu_step g ON g.gpu_id = b.gpu_id AND g.step = b.step"
        " WHERE b.basis = 'steps' AND b.number BETWEEN ?1 AND ?2 GROUP BY 1, 2");
    rows.bind(3, columns.first);
    rows.bind(4, columns.width);
    const auto untold = unknown_waits(source.run);
    while (rows.step()) {
        if (untold.contains(rows.number(0))) continue;  // its own work would be all of the step
        OfGpu& gpu = by_id.at(rows.number(0));
        const auto column = static_cast<size_t>(rows.number(1));
        gpu.own[column] = rows.real(2);
        gpu.wait[column] = rows.real(3);
    }
    std::vector<OfGpu> all;
    for (auto& [gpu_id, gpu] : by_id) all.push_back(std::move(gpu));
    std::stable_sort(all.begin(), all.end(), [](const OfGpu& a, const OfGpu& b) {
        return a.label.rank.value_or(INT64_MAX) < b.label.rank.value_or(INT64_MAX);
    });
    return all;
}

double mean_of(const std::vector<double>& values) {
    double sum = 0, count = 0;
    for (const double value : values)
        if (std::isfinite(value)) sum += value, ++count;
    return count > 0 ? sum / count : kUnknown;
}

double most_of(const std::vector<double>& values) {
    Extent extent;
    for (const double value : values) extent.take(value);
    return extent.is_empty() ? kUnknown : extent.high;
}

// Several ranks in a row of the map: of each column the largest.
HeatMap::Row row_of(std::span<const OfGpu> gpus, std::vector<double> OfGpu::*values) {
    HeatMap::Row row;
    row.label = gpus.front().label.text;
    if (gpus.size() > 1) row.label += " to " + std::to_string(gpus.back().label.rank.value_or(0));
    for (size_t column = 0; column < (gpus.front().*values).size(); ++column) {
        Extent extent;
        for (const OfGpu& gpu : gpus) extent.take((gpu.*values)[column]);
        row.values.push_back(extent.is_empty() ? kUnknown : extent.high);
    }
    const double most = most_of(row.values);
    row.hint = row.label + (std::isfinite(most) ? ": mean " + duration_text(mean_of(row.values)) + ", most " +
                                                      duration_text(most)
                                                : ": no whole step was timed");
    return row;
}

Markup map_of(const std::vector<OfGpu>& gpus, const Columns& columns, std::vector<double> OfGpu::*values,
              const char* id, const char* title) {
    HeatMap map;
    map.words = {id, title, std::string(title) + ": a row for each rank, a column for each step."};
    map.column_label = "step";
    map.text = duration_text;
    for (size_t i = 0; i < columns.count; ++i) map.columns.push_back(columns.name(i));
    const size_t each = (gpus.size() + kMostRows - 1) / kMostRows;
    for (size_t from = 0; from < gpus.size(); from += each)
        map.rows.push_back(row_of(std::span(gpus).subspan(from, std::min(each, gpus.size() - from)), values));
    return figure(map.words, heat_map(map));
}

TableCell cell_of(double ns) {
    return std::isfinite(ns) ? TableCell(duration_text(ns), ns) : TableCell(kNotThere);
}

Markup table_of(const std::vector<OfGpu>& gpus) {
    PageTable rows = {"Own work and waits by rank",
                      "lrrrr",
                      {"GPU", "own work, mean", "own work, most", "wait, mean", "wait, most"},
                      {},
                      ""};
    std::vector<const OfGpu*> by_work;
    for (const OfGpu& gpu : gpus) by_work.push_back(&gpu);
    std::stable_sort(by_work.begin(), by_work.end(), [](const OfGpu* a, const OfGpu* b) {
        const double of_a = mean_of(a->own), of_b = mean_of(b->own);
        return (std::isfinite(of_a) ? of_a : -1) > (std::isfinite(of_b) ? of_b : -1);
    });
    if (by_work.size() > kMostTableRows) {
        rows.rest = "Those " + std::to_string(kMostTableRows) + " of " + std::to_string(gpus.size()) +
                    " with the most own work.";
        by_work.resize(kMostTableRows);
    }
    for (const OfGpu* gpu : by_work)
        rows.rows.push_back({gpu->label.text, cell_of(mean_of(gpu->own)), cell_of(most_of(gpu->own)),
                             cell_of(mean_of(gpu->wait)), cell_of(most_of(gpu->wait))});
    return table(rows);
}

std::string rule_of(const std::vector<OfGpu>& gpus, const Columns& columns) {
    std::string text;
    if (columns.width > 1) text = "A column is the mean of " + std::to_string(columns.width) + " steps. ";
    if (gpus.size() > kMostRows) text += "A row is several ranks: of each column the largest of them. ";
    return text + "Blank: no step there was timed as a whole, or nothing tells how long it waited.";
}

// What the report says of ranks beside each other.
Markup skew_of(const PageInput& input) {
    const Json& skew = input.of("skew");
    const Json& straggler = skew["straggler"];
    std::string text;
    if (straggler.is_null() && is_one_rank(input)) {
        // Nobody is held back by anybody.
    } else if (straggler.is_null()) {
        text = (compares_ranks(input) ? "No rank was found that holds the others back: "
                                      : "Which rank holds the others back is not known: ") +
               why_of(skew, "straggler") + ".";
    } else {
        const std::string cause = straggler["cause"].words();
        text = "If " + rank_of(straggler) + " were as fast as the others, each step would be " +
               saved_of(straggler) + " shorter. Cause: " + (cause.empty() ? "unattributed" : cause) + ".";
    }
    if (!skew["stagger_p50_ns"].is_null())
        text += " GPUs start " + duration_of(skew["stagger_p50_ns"]) + " apart (median).";
    return text.empty() ? Markup() : paragraph(text);
}

bool is_known(const OfGpu& gpu) { return std::isfinite(most_of(gpu.own)); }

std::string why_unknown(const Database& run) {
    const auto untold = unknown_waits(run);
    return untold.empty() ? "no step was timed from beginning to end" : untold.begin()->second;
}

Markup write(const PageInput& input) {
    const bool has_steps = !input.of("steps")["median_ns"].is_null();
    if (input.is_alone() || (!has_steps && input.of("collectives").items().empty())) return {};
    const Columns columns = columns_of(input.source);
    Markup all = skew_of(input);
    if (columns.count == 0) {
        all += missing("no step was timed from beginning to end");
        return all;
    }
    const std::vector<OfGpu> gpus = gpus_of(input.source, columns);
    if (std::none_of(gpus.begin(), gpus.end(), is_known)) {
        all += missing("own work and waits: " + why_unknown(input.source.run));
        return all;
    }
    all += map_of(gpus, columns, &OfGpu::own, "own-work",
                  "Own work of each rank: a step without its waits for others");
    all += map_of(gpus, columns, &OfGpu::wait, "waits", "How long each rank waited for others");
    all += paragraph(rule_of(gpus, columns), "rest");
    all += folded("As a table", table_of(gpus));
    return all;
}

constexpr ReportPart kPart = {"ranks", "Ranks", write};
const ReportPartRegistration kRegistration(kPart);

}  // namespace

}  // namespace gpushim::analysis::part_ranks
