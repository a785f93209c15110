// What was launched, and how long launching took the host.
#include <algorithm>
#include <map>

#include "../text/escape.h"
#include "../text/units.h"
#include "distribution.h"
#include "section.h"

namespace gpushim::analysis {

namespace {

constexpr size_t kMostRows = 10;

std::map<std::string, Distribution> launches_of(const Inputs& inputs) {
    std::map<std::string, Distribution> launches;
    for (const Trace& trace : inputs.traces) {
        std::map<int64_t, Distribution*> by_shape;
        Query shapes = trace.base.prepare("SELECT id, coalesce(kernel, '(name not known)') FROM v_shape");
        while (shapes.step()) by_shape[shapes.number(0)] = &launches[shapes.text(1)];
        // Captured, failed and unfinished launches ran nothing.
        Query rows = trace.base.prepare("SELECT shape_id, dur_ns FROM launch WHERE flags & 7 = 0");
        while (rows.step())
            if (const auto found = by_shape.find(rows.number(0)); found != by_shape.end())
                found->second->add(rows.number(1), 1);
    }
    std::erase_if(launches, [](const auto& launch) { return launch.second.calls() == 0; });
    return launches;
}

struct Graphs {
    int64_t launches = 0;
    int64_t kernels = 0;
};

Graphs graphs_of(const Inputs& inputs) {
    Graphs sum;
    for (const Trace& trace : inputs.traces) {
        Query query = trace.base.prepare(
            "SELECT count(*), coalesce(sum(kernels), 0) FROM v_graph_launch WHERE failed = 0 AND unfinished "
            "= 0");
        if (!query.step()) continue;
        sum.launches += query.number(0);
        sum.kernels += query.number(1);
    }
    return sum;
}

void write(const Inputs& inputs, Report& report) {
    const auto launches = launches_of(inputs);
    const Graphs graphs = graphs_of(inputs);
    std::vector<std::pair<std::string, const Distribution*>> order;
    for (const auto& [name, times] : launches) order.emplace_back(name, &times);
    std::stable_sort(order.begin(), order.end(),
                     [](auto& a, auto& b) { return a.second->calls() > b.second->calls(); });

    std::vector<std::vector<std::string>> rows = {{"KERNELS", "launches", "call p50", "call p99"}};
    Json list = Json::array();
    for (const auto& [name, times] : order) {
        const int64_t p50 = times->percentile(0.50), p99 = times->percentile(0.99);
        rows.push_back({for_terminal(name), count_text(times->calls()),
                        duration_text(static_cast<double>(p50)), duration_text(static_cast<double>(p99))});
        list.push(Json::object({{"name", name},
                                {"count", times->calls()},
                                {"sum_ns", nullptr},
                                {"call_sum_ns", times->sum_ns()},
                                {"call_p50_ns", p50},
                                {"call_p99_ns", p99}}));
    }
    report.line("");
    report.table("lrrr", std::move(rows), kMostRows);
    if (graphs.launches != 0)
        report.line("  and " + count_text(graphs.launches) + " launches of graphs that hold " +
                    count_text(graphs.kernels) + " kernels in all");
    report.json.set("kernels", std::move(list));
    report.json.set("graphs", Json::object({{"launches", graphs.launches}, {"kernels", graphs.kernels}}));
}

constexpr Section kSection = {20, write};
const SectionRegistration kRegistration(kSection);

}  // namespace

}  // namespace gpushim::analysis
