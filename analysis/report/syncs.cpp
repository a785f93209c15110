// Where the host waited for the GPU.
#include "../text/escape.h"
#include "../text/units.h"
#include "facts.h"
#include "section.h"

namespace gpushim::analysis::section_syncs {

namespace {

constexpr size_t kMostRows = 3;

void write(const ReportSource& source, Report& report) {
    std::vector<std::vector<std::string>> table = {{"WAITS", "on", "calls", "total", "longest"}};
    Json list = Json::array();
    Query rows = source.run.prepare(
        "SELECT api, target_kind, sum(calls), sum(sum_ns), max(max_ns), sum(after_small_d2h) FROM sync_stat"
        " GROUP BY api, target_kind ORDER BY sum(sum_ns) DESC, api, target_kind");
    const auto shown = [](std::optional<int64_t> ns) {
        return ns ? duration_text(static_cast<double>(*ns)) : "not recorded";
    };
    while (rows.step()) {
        table.push_back({for_terminal(rows.text(0)), rows.text(1), count_text(rows.number(2)),
                         shown(rows.maybe(3)), shown(rows.maybe(4))});
        list.push(Facts()
                      .known("api", rows.text(0))
                      .known("on", rows.text(1))
                      .known("calls", rows.number(2))
                      .maybe("sum_ns", rows.maybe(3), "not recorded")
                      .maybe("max_ns", rows.maybe(4), "not recorded")
                      .maybe("after_small_d2h", rows.maybe(5), "not recorded")
                      .json());
    }
    report.json.set("syncs", std::move(list));
    if (table.size() > 1) report.table("llrrr", std::move(table), kMostRows);
}

constexpr Section kSection = {"syncs", write, true};
const SectionRegistration kRegistration(kSection);

}  // namespace

}  // namespace gpushim::analysis::section_syncs
