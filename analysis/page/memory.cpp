// How much device memory the program held, and how much there is.
#include "../chart/page.h"
#include "../chart/table.h"
#include "../report/facts.h"
#include "../report/gpu_label.h"
#include "../text/units.h"
#include "../to_int64.h"
#include "figures.h"
#include "over_time.h"

namespace gpushim::analysis::part_memory {

namespace {

constexpr size_t kMostRows = 100;

Markup table_of(const PageInput& input) {
    PageTable rows = {"Peak of device memory", "lrrr", {"rank", "peak", "of", "share"}, {}, ""};
    size_t known = 0;
    const GpuNames names(input.source.run);
    for (const Json& gpu : input.of("gpus").items()) {
        const Json &peak = gpu["memory_peak_bytes"], &total = gpu["memory_total_bytes"];
        if (peak.is_null() || ++known > kMostRows) continue;
        rows.rows.push_back({names.of(gpu), cell_by(memory_text, peak), cell_by(memory_text, total),
                             cell_by(percent_text, share_of(*peak.amount(), total.amount().value_or(0)))});
    }
    if (known > kMostRows)
        rows.rest = "The first " + std::to_string(kMostRows) + " of " + std::to_string(known) + ".";
    return rows.rows.empty() ? missing("peaks: no allocation was recorded") : table(rows);
}

Markup write(const PageInput& input) {
    if (is_imported(input.report)) return {};  // other tools' traces have no allocations
    Markup all = curve_of(input, {"allocated_bytes", "memory-held", "Device memory the program held",
                                  memory_text, 1, true, true});
    if (all.empty())
        all += missing("memory over time: no allocation was recorded, or an older gpushim analysed the run");
    all += table_of(input);
    all += paragraph(
        "Memory as allocated from the driver. What a framework's own allocator does inside it is not seen.",
        "rest");
    return all;
}

constexpr ReportPart kPart = {"memory", "Memory", write};
const ReportPartRegistration kRegistration(kPart);

}  // namespace

}  // namespace gpushim::analysis::part_memory
