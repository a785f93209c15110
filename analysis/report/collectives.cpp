// What NCCL was asked for: by operation and size, over all ranks.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "../text/escape.h"
#include "../text/units.h"
#include "section.h"

namespace gpushim::analysis {

namespace {

constexpr size_t kMostRows = 6;

using Kind = std::tuple<std::string, std::string, std::string, std::string, int64_t, int64_t>;
struct Calls {
    std::set<const Trace*> traces;
    int64_t count = 0, bytes = 0, call_sum_ns = 0;
};

std::map<Kind, Calls> collectives_of(const Inputs& inputs) {
    std::map<Kind, Calls> all;
    for (const Trace& trace : inputs.traces) {
        Query query = trace.base.prepare(
            "SELECT communicator, api, dtype, op, bytes, ranks, calls, sum_bytes, call_sum_ns FROM "
            "v_collective_total");
        while (query.step()) {
            Calls& calls = all[{query.text(0), query.text(1), query.text(2), query.text(3), query.number(4),
                                query.number(5)}];
            calls.traces.insert(&trace);
            calls.count += query.number(6);
            calls.bytes += query.number(7);
            calls.call_sum_ns += query.number(8);
        }
    }
    return all;
}

void write(const Inputs& inputs, Report& report) {
    const auto all = collectives_of(inputs);
    std::vector<const std::pair<const Kind, Calls>*> order;
    for (const auto& entry : all) order.push_back(&entry);
    std::stable_sort(order.begin(), order.end(),
                     [](auto a, auto b) { return a->second.bytes > b->second.bytes; });

    std::vector<std::vector<std::string>> rows = {
        {"COLLECTIVES", "type", "op", "size", "calls", "seen in", "ranks", "in calls"}};
    Json list = Json::array();
    for (const auto* entry : order) {
        const auto& [communicator, api, dtype, op, bytes, ranks] = entry->first;
        const Calls& calls = entry->second;
        rows.push_back({for_terminal(api), for_terminal(dtype), for_terminal(op),
                        bytes_text(static_cast<double>(bytes)), count_text(calls.count),
                        count_text(static_cast<int64_t>(calls.traces.size())), count_text(ranks),
                        duration_text(static_cast<double>(calls.call_sum_ns))});
        list.push(Json::object({{"comm", communicator},
                                {"op", api},
                                {"dtype", dtype},
                                {"reduction", op.empty() ? Json() : Json(op)},
                                {"bytes", bytes},
                                {"ranks", ranks},
                                {"count", calls.count},
                                {"traces", calls.traces.size()},
                                {"call_sum_ns", calls.call_sum_ns}}));
    }
    report.json.set("collectives", std::move(list));
    if (rows.size() == 1) return;
    report.line("");
    report.table("lllrrrrr", std::move(rows), kMostRows);
}

constexpr Section kSection = {40, write};
const SectionRegistration kRegistration(kSection);

}  // namespace

}  // namespace gpushim::analysis
