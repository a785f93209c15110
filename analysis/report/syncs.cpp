// Where the host waited for the GPU, and what it asked again and again.
#include <algorithm>
#include <map>

#include "../text/escape.h"
#include "../text/units.h"
#include "section.h"

namespace gpushim::analysis {

namespace {

constexpr size_t kMostRows = 6;

struct Waits {
    int64_t calls = 0, sum_ns = 0, max_ns = 0;
};
using What = std::pair<std::string, std::string>;  // function, kind of object

void write(const Inputs& inputs, Report& report) {
    std::map<What, Waits> all;
    for (const Trace& trace : inputs.traces) {
        Query query = trace.base.prepare(
            "SELECT api, coalesce(target_kind, ''), calls, sum_ns, max_ns FROM v_sync_total");
        while (query.step()) {
            Waits& waits = all[{query.text(0), query.text(1)}];
            waits.calls += query.number(2);
            waits.sum_ns += query.number(3);
            waits.max_ns = std::max(waits.max_ns, query.number(4));
        }
    }
    std::vector<std::pair<What, Waits>> order(all.begin(), all.end());
    std::stable_sort(order.begin(), order.end(),
                     [](auto& a, auto& b) { return a.second.sum_ns > b.second.sum_ns; });

    std::vector<std::vector<std::string>> rows = {{"WAITS", "on", "calls", "total", "longest"}};
    Json list = Json::array();
    for (const auto& [what, waits] : order) {
        rows.push_back({for_terminal(what.first), what.second, count_text(waits.calls),
                        duration_text(static_cast<double>(waits.sum_ns)),
                        duration_text(static_cast<double>(waits.max_ns))});
        list.push(Json::object({{"api", what.first},
                                {"on", what.second.empty() ? Json() : Json(what.second)},
                                {"calls", waits.calls},
                                {"sum_ns", waits.sum_ns},
                                {"max_ns", waits.max_ns}}));
    }
    report.json.set("syncs", std::move(list));
    if (rows.size() == 1) return;
    report.line("");
    report.table("llrrr", std::move(rows), kMostRows);
}

constexpr Section kSection = {50, write};
const SectionRegistration kRegistration(kSection);

}  // namespace

}  // namespace gpushim::analysis
