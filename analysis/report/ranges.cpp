// The program's own ranges (NVTX): how often, and how long on the host.
#include <algorithm>
#include <map>

#include "../text/units.h"
#include "rollups.h"
#include "section.h"

namespace gpushim::analysis::section_ranges {

namespace {

constexpr size_t kMostRows = 10;

using Name = std::pair<std::string, std::string>;  // domain, name
struct Ranges {
    int64_t ended = 0, open = 0, threads = 0, sum_ns = 0, max_ns = 0;
};

std::map<Name, Ranges> ranges_of(const Inputs& inputs) {
    std::map<Name, Ranges> all;
    for (const Trace& trace : inputs.traces) {
        if (!trace.base.has("v_range")) continue;
        Query query = trace.base.prepare(
            "SELECT domain, coalesce(name, '(no name)'), count(dur_ns), count(*) - count(dur_ns),"
            " count(DISTINCT thread_id), sum(dur_ns), max(dur_ns) FROM v_range GROUP BY 1, 2");
        while (query.step()) {
            Ranges& ranges = all[{query.text(0), query.text(1)}];
            ranges.ended += query.number(2);
            ranges.open += query.number(3);
            ranges.threads += query.number(4);
            ranges.sum_ns += query.number(5);
            ranges.max_ns = std::max(ranges.max_ns, query.number(6));
        }
    }
    return all;
}

double mean_ns(const Ranges& ranges) {
    return static_cast<double>(ranges.sum_ns) / static_cast<double>(std::max<int64_t>(ranges.ended, 1));
}

// Of ranges there are no totals: those whose rows are gone do not count, and where only a beginning is left
// it is not known whether it is open.
bool rows_are_gone(const Inputs& inputs) {
    return std::any_of(inputs.traces.begin(), inputs.traces.end(), is_summarised);
}

void write(const ReportSource& source, Report& report) {
    if (source.traces == nullptr) return;
    const Inputs& inputs = *source.traces;
    const auto all = ranges_of(inputs);
    const bool rows_gone = rows_are_gone(inputs);
    std::vector<const std::pair<const Name, Ranges>*> order;
    for (const auto& entry : all) order.push_back(&entry);
    std::stable_sort(order.begin(), order.end(),
                     [](auto a, auto b) { return a->second.sum_ns > b->second.sum_ns; });

    std::vector<std::vector<std::string>> rows = {
        {"RANGES", "domain", "count", "threads", "total (host)", "mean", "longest"}};
    Json list = Json::array();
    for (const auto* entry : order) {
        const auto& [name, ranges] = *entry;
        const bool timed = ranges.ended > 0;
        rows.push_back({source.name("range", name.second), source.name("domain", name.first),
                        count_text(ranges.ended), count_text(ranges.threads),
                        timed       ? duration_text(static_cast<double>(ranges.sum_ns))
                        : rows_gone ? ""
                                    : "open",
                        timed ? duration_text(mean_ns(ranges)) : "",
                        timed ? duration_text(static_cast<double>(ranges.max_ns)) : ""});
        Json json = Json::object(
            {{"name", source.json_name("range", name.second)},
             {"domain", name.first.empty() ? Json() : Json(source.json_name("domain", name.first))},
             {"count", ranges.ended},
             {"open", rows_gone ? Json() : Json(ranges.open)},
             {"threads", ranges.threads},
             {"sum_ns", timed ? Json(ranges.sum_ns) : Json()},
             {"mean_ns", timed ? Json(mean_ns(ranges)) : Json()},
             {"max_ns", timed ? Json(ranges.max_ns) : Json()}});
        if (rows_gone) json.set("rows_gone", true);
        list.push(std::move(json));
    }
    report.json.set("ranges", std::move(list));
    if (rows.size() == 1) return;
    report.line("");
    report.table("llrrrrr", std::move(rows), kMostRows);
    if (rows_gone) report.line("  only ranges whose rows were kept");
}

constexpr Section kSection = {"ranges", write, true};
const SectionRegistration kRegistration(kSection);

}  // namespace

}  // namespace gpushim::analysis::section_ranges
