// Which kernels ran, by themselves and in graphs, and how long launching them took the host.
#include <algorithm>
#include <map>
#include <utility>

#include "../text/escape.h"
#include "../text/units.h"
#include "distribution.h"
#include "rollups.h"
#include "section.h"

namespace gpushim::analysis {

namespace {

constexpr size_t kMostRows = 10;
constexpr const char* kNone = "-";  // never launched by themselves: no call was timed

struct Kernel {
    Distribution launches;  // those that ran it by itself
    int64_t in_graphs = 0;

    int64_t executed() const { return launches.calls() + in_graphs; }
};
using Kernels = std::map<std::string, Kernel>;

void add_sums(const Trace& trace, Kernels& kernels) {
    std::map<int64_t, Distribution*> by_series;
    Query series = trace.base.prepare(
        "SELECT id, kernel FROM v_series WHERE kind = 'launch' AND captured = 0 AND failed = 0 AND "
        "unfinished = 0");
    while (series.step()) by_series[series.number(0)] = &kernels[series.text(1)].launches;
    add_rollups(trace, by_series);
}

void add_launches(const Trace& trace, Kernels& kernels) {
    if (is_summarised(trace)) return add_sums(trace, kernels);
    std::map<int64_t, Distribution*> by_shape;
    Query shapes = trace.base.prepare("SELECT id, coalesce(kernel, '(name not known)') FROM v_shape");
    while (shapes.step()) by_shape[shapes.number(0)] = &kernels[shapes.text(1)].launches;
    // Captured, failed and unfinished launches ran nothing.
    Query rows = trace.base.prepare("SELECT shape_id, dur_ns FROM launch WHERE flags & 7 = 0");
    while (rows.step())
        if (const auto found = by_shape.find(rows.number(0)); found != by_shape.end())
            found->second->add(rows.number(1), 1);
}

void add_graphs(const Trace& trace, Kernels& kernels) {
    if (trace.base.is_of_first_schema()) return;
    Query rows = trace.base.prepare("SELECT kernel, in_graphs FROM v_kernel_executed WHERE in_graphs != 0");
    while (rows.step()) kernels[rows.text(0)].in_graphs += rows.number(1);
}

Kernels kernels_of(const Inputs& inputs) {
    Kernels kernels;
    for (const Trace& trace : inputs.traces) {
        add_launches(trace, kernels);
        add_graphs(trace, kernels);
    }
    std::erase_if(kernels, [](const auto& kernel) { return kernel.second.executed() == 0; });
    return kernels;
}

struct Graphs {
    int64_t launches = 0;
    int64_t not_recorded = 0;  // launches of graphs that do not say what they hold
    int64_t kernels = 0;
};

Graphs graphs_of(const Inputs& inputs) {
    Graphs sum;
    for (const Trace& trace : inputs.traces) {
        Query query = trace.base.prepare(
            trace.base.is_of_first_schema()
                ? "SELECT count(*), count(*) - count(g.kernels), coalesce(sum(g.kernels), 0)"
                  " FROM graph_launch l LEFT JOIN graph g ON g.id = l.graph_id WHERE l.flags & 7 = 0"
                : "SELECT coalesce(sum(t.events), 0),"
                  " coalesce(sum(t.events) FILTER (WHERE g.kernels IS NULL), 0),"
                  " coalesce(sum(t.events * g.kernels), 0) FROM series s"
                  " JOIN v_series_total t ON t.series_id = s.id LEFT JOIN graph g ON g.id = s.graph_id"
                  " WHERE s.kind = 'graph_launch' AND s.flags & 7 = 0");
        if (!query.step()) continue;
        sum.launches += query.number(0);
        sum.not_recorded += query.number(1);
        sum.kernels += query.number(2);
    }
    return sum;
}

std::vector<std::pair<std::string, const Kernel*>> most_executed_first(const Kernels& kernels) {
    std::vector<std::pair<std::string, const Kernel*>> order;
    for (const auto& [name, kernel] : kernels) order.emplace_back(name, &kernel);
    std::stable_sort(order.begin(), order.end(),
                     [](auto& a, auto& b) { return a.second->executed() > b.second->executed(); });
    return order;
}

void write_table(const std::vector<std::pair<std::string, const Kernel*>>& order, bool with_graphs,
                 Report& report) {
    std::vector<std::vector<std::string>> rows = {{"KERNELS", "launches", "call p50", "call p99"}};
    if (with_graphs) rows = {{"KERNELS", "ran", "in graphs", "call p50", "call p99"}};
    for (const auto& [name, kernel] : order) {
        rows.push_back({for_terminal(name), count_text(kernel->executed()),
                        kernel->launches.percentile_text(0.50, kNone),
                        kernel->launches.percentile_text(0.99, kNone)});
        if (with_graphs) rows.back().insert(rows.back().begin() + 2, count_text(kernel->in_graphs));
    }
    report.line("");
    report.table(with_graphs ? "lrrrr" : "lrrr", std::move(rows), kMostRows);
}

void write_graphs(const Graphs& graphs, Report& report) {
    if (graphs.launches != 0)
        report.line("  " + count_text(graphs.launches) + " launches of graphs ran " +
                    count_text(graphs.kernels) + " kernels" +
                    (graphs.not_recorded == 0
                         ? ""
                         : "; what " + count_text(graphs.not_recorded) + " of them held is not recorded"));
    report.json.set("graphs", Json::object({{"launches", graphs.launches},
                                            {"not_recorded", graphs.not_recorded},
                                            {"kernels", graphs.kernels}}));
}

void write(const Inputs& inputs, Report& report) {
    const Kernels kernels = kernels_of(inputs);
    const Graphs graphs = graphs_of(inputs);
    const auto order = most_executed_first(kernels);
    Json list = Json::array();
    for (const auto& [name, kernel] : order) {
        Json json = Json::object({{"name", name},
                                  {"count", kernel->executed()},
                                  {"launched", kernel->launches.calls()},
                                  {"in_graphs", kernel->in_graphs},
                                  {"sum_ns", nullptr},
                                  {"call_sum_ns", kernel->launches.sum_ns()}});
        kernel->launches.set_percentile(json, "call_p50_ns", 0.50);
        kernel->launches.set_percentile(json, "call_p99_ns", 0.99);
        list.push(std::move(json));
    }
    write_table(order, graphs.launches != 0, report);
    report.json.set("kernels", std::move(list));
    write_graphs(graphs, report);
}

constexpr Section kSection = {20, write};
const SectionRegistration kRegistration(kSection);

}  // namespace

}  // namespace gpushim::analysis
