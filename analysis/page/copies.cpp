// What was copied, how fast, and from memory of which kind.
#include <algorithm>

#include "../chart/page.h"
#include "../chart/stacked_bars.h"
#include "../chart/table.h"
#include "../report/all_steps.h"
#include "../report/facts.h"
#include "../text/units.h"
#include "figures.h"
#include "part.h"

namespace gpushim::analysis::part_copies {

namespace {

constexpr size_t kMostBars = 12, kMostRows = 100;

std::string name_of(const GpuNames& names, const Json& copies) {
    return names.of(copies) + " stream " + copies["stream"].words() + " " + copies["kind"].words();
}

Markup chart_of(const GpuNames& names, const std::vector<const Json*>& by_bytes) {
    StackedBars chart;
    chart.words = {
        "copy-bytes", "Bytes copied, by stream and direction",
        "A bar for each stream and direction, those with the most bytes: from pageable memory and other."};
    chart.x = {"in the whole run", bytes_text};
    chart.parts = {{"pageable", 1}, {"pinned or on the device", 0}};
    for (const Json* copies : by_bytes) {
        if (chart.bars.size() == kMostBars) break;
        const double bytes = (*copies)["bytes"].amount().value_or(0);
        const double pageable = (*copies)["pageable_share"].amount().value_or(0);
        const auto rate = (*copies)["achieved_bytes_per_s"].amount();
        if (bytes > 0)
            chart.bars.push_back({name_of(names, *copies),
                                  {bytes * pageable, bytes * (1 - pageable)},
                                  rate ? "at " + rate_text(*rate) : ""});
    }
    return chart.bars.empty() ? Markup() : figure(chart.words, stacked_bars(chart));
}

Markup table_of(const GpuNames& names, const std::vector<const Json*>& by_bytes) {
    PageTable rows = {"Copies",
                      "lllrrrrrrr",
                      {"GPU", "stream", "kind", "count", "per step", "bytes", "pageable", "blocking",
                       "achieved", "nothing else ran"},
                      {},
                      ""};
    if (by_bytes.size() > kMostRows)
        rows.rest = "Those " + std::to_string(kMostRows) + " of " +
                    count_axis(static_cast<double>(by_bytes.size())) + " with the most bytes.";
    for (const Json* copies : by_bytes) {
        if (rows.rows.size() == kMostRows) break;
        const Json& one = *copies;
        rows.rows.push_back({names.of(one), one["stream"].words(), one["kind"].words(),
                             cell_by(count_axis, one["count"]), cell_by(coordinate, one["per_step"]),
                             cell_by(bytes_text, one["bytes"]), cell_by(percent_text, one["pageable_share"]),
                             cell_by(percent_text, one["blocking_share"]),
                             cell_by(rate_text, one["achieved_bytes_per_s"]),
                             cell_by(duration_text, one["blocks_kernels_ns"])});
    }
    return table(rows);
}

Markup write(const PageInput& input) {
    std::vector<const Json*> by_bytes;
    for (const Json& copies : input.of("copies").items()) by_bytes.push_back(&copies);
    if (by_bytes.empty()) return paragraph("Nothing was copied.", "soft");
    std::stable_sort(by_bytes.begin(), by_bytes.end(), [](const Json* a, const Json* b) {
        return (*a)["bytes"].amount().value_or(0) > (*b)["bytes"].amount().value_or(0);
    });
    const GpuNames names(input.source.run);
    Markup all = chart_of(names, by_bytes);
    Markup rows = table_of(names, by_bytes);
    rows += of_steps(all_steps(input.source.run));
    all += folded("As a table", rows);
    return all;
}

constexpr ReportPart kPart = {"copies", "Copies", write};
const ReportPartRegistration kRegistration(kPart);

}  // namespace

}  // namespace gpushim::analysis::part_copies
