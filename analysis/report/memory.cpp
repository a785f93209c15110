// The most memory that was held at one time, as allocated by the program.
#include "../text/escape.h"
#include "../text/units.h"
#include "section.h"

namespace gpushim::analysis::section_memory {

namespace {

constexpr size_t kMostRows = 6;

void write(const ReportSource& source, Report& report) {
    if (source.traces == nullptr) return;
    const Inputs& inputs = *source.traces;
    std::vector<std::vector<std::string>> rows = {{"MEMORY", "GPU", "kind", "peak", "of"}};
    Json list = Json::array();
    for (const Trace& trace : inputs.traces) {
        Query query = trace.base.prepare(
            "SELECT device_id, kind, max(peak_bytes), device_bytes FROM v_memory_peak"
            " GROUP BY device_id, kind ORDER BY device_id, kind");
        while (query.step()) {
            // Of pinned memory the host has its own amount.
            const auto total = query.text(1) == "device" ? query.maybe(3) : std::nullopt;
            rows.push_back({trace.label(), query.text(0), query.text(1),
                            memory_text(static_cast<double>(query.number(2))),
                            total ? memory_text(static_cast<double>(*total)) : ""});
            Json row = Json::object({{"rank", trace.rank},
                                     {"device", query.maybe(0)},
                                     {"kind", query.text(1)},
                                     {"memory_peak_bytes", query.number(2)},
                                     {"memory_total_bytes", total}});
            if (!total) row.set("why", "the size of this kind of memory is not recorded");
            list.push(std::move(row));
        }
    }
    report.json.set("memory", std::move(list));
    if (rows.size() == 1) return;
    report.line("");
    report.table("lrlrr", std::move(rows), kMostRows);
}

constexpr Section kSection = {"memory", write, true};
const SectionRegistration kRegistration(kSection);

}  // namespace

}  // namespace gpushim::analysis::section_memory
