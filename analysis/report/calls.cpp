// How often each function of the driver and NCCL was called, and how long the callers were in it.
#include <algorithm>
#include <map>

#include "../text/escape.h"
#include "../text/units.h"
#include "distribution.h"
#include "rollups.h"
#include "section.h"

namespace gpushim::analysis::section_calls {

namespace {

constexpr size_t kMostRows = 5;

using Calls = std::map<std::string, Distribution>;

void add_sums(const Trace& trace, Calls& calls) {
    std::map<int64_t, Distribution*> by_series;
    Query series =
        trace.base.prepare("SELECT id, api FROM v_series WHERE api IS NOT NULL AND kind NOT LIKE '%_device'");
    while (series.step()) by_series[series.number(0)] = &calls[series.text(1)];
    add_rollups(trace, by_series);
}

// Queries share rows, so a single one has no time of its own: each counts with the mean of its row.
Calls calls_of(const Inputs& inputs) {
    Calls calls;
    for (const Trace& trace : inputs.traces) {
        if (is_summarised(trace)) {
            add_sums(trace, calls);
            continue;
        }
        std::map<int64_t, Distribution*> by_id;
        Query names = trace.base.prepare("SELECT id, name FROM api");
        while (names.step()) by_id[names.number(0)] = &calls[names.text(1)];
        Query rows = trace.base.prepare("SELECT api_id, calls, dur_ns FROM v_all WHERE api_id IS NOT NULL");
        while (rows.step()) {
            const auto found = by_id.find(rows.number(0));
            if (found == by_id.end()) continue;
            if (const auto dur_ns = rows.maybe(2))
                found->second->add(*dur_ns, rows.number(1));
            else
                found->second->add_untimed(rows.number(1));
        }
    }
    std::erase_if(calls,
                  [](const auto& call) { return call.second.calls() == 0 && call.second.odd_rows() == 0; });
    return calls;
}

void write(const ReportSource& source, Report& report) {
    if (source.traces == nullptr) return;
    const Inputs& inputs = *source.traces;
    const auto calls = calls_of(inputs);
    std::vector<std::pair<std::string, const Distribution*>> order;
    for (const auto& [name, times] : calls) order.emplace_back(name, &times);
    std::stable_sort(order.begin(), order.end(),
                     [](auto& a, auto& b) { return a.second->sum_ns() > b.second->sum_ns(); });

    std::vector<std::vector<std::string>> rows = {{"CALLS", "count", "total", "p50", "p99"}};
    Json list = Json::array();
    int64_t odd_rows = 0;
    for (const auto& [name, times] : order) {
        const auto shown = [](int64_t ns) { return ns < 0 ? "" : duration_text(static_cast<double>(ns)); };
        rows.push_back({for_terminal(name), count_text(times->calls()), shown(times->sum_ns()),
                        times->percentile_text(0.50, ""), times->percentile_text(0.99, "")});
        Json json = Json::object({{"api", name}, {"count", times->calls()}, {"sum_ns", times->sum_ns()}});
        times->set_percentile(json, "p50_ns", 0.50);
        times->set_percentile(json, "p99_ns", 0.99);
        if (times->odd_rows() != 0) json.set("odd_rows", times->odd_rows());
        odd_rows += times->odd_rows();
        list.push(std::move(json));
    }
    report.line("");
    report.table("lrrrr", std::move(rows), kMostRows);
    if (odd_rows != 0)
        report.line("  " + count_text(odd_rows) + (odd_rows == 1 ? " row" : " rows") +
                    " left out: their times or numbers are impossible (negative, or over a year)");
    report.json.set("calls", std::move(list));
}

constexpr Section kSection = {"calls", write, true};
const SectionRegistration kRegistration(kSection);

}  // namespace

}  // namespace gpushim::analysis::section_calls
