// What collectives took over the size of their message, beside what was to be expected.
#include <algorithm>
#include <map>

#include "../chart/line_chart.h"
#include "../chart/page.h"
#include "../chart/table.h"
#include "../text/escape.h"
#include "../text/units.h"
#include "figures.h"
#include "part.h"

namespace gpushim::analysis::part_collectives {

namespace {

constexpr size_t kMostRows = 100, kMostPoints = 300, kMostOps = 3;

struct Points {
    std::vector<LinePoint> measured, expected;
};

// By operation; those of the report come with the longest transfers first.
std::vector<std::pair<std::string, Points>> points_of(const Json& collectives) {
    std::vector<std::pair<std::string, Points>> all;
    size_t points = 0;
    for (const Json& kind : collectives.items()) {
        const auto bytes = kind["bytes"].amount(), took = kind["transfer_p50_ns"].amount(),
                   expected = kind["expected_ns"].amount();
        if (!bytes || *bytes <= 0 || !took || *took <= 0 || ++points > kMostPoints) continue;
        const std::string op = shown(kind["op"].words());
        auto found = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.first == op; });
        if (found == all.end()) {
            if (all.size() == kMostOps) continue;
            found = all.insert(all.end(), {op, {}});
        }
        found->second.measured.push_back(
            {*bytes, *took, kUnknown, kUnknown,
             op + " of " + bytes_text(*bytes) + ": " + duration_text(*took) + " measured"});
        if (expected && *expected > 0)
            found->second.expected.push_back(
                {*bytes, *expected, kUnknown, kUnknown,
                 op + " of " + bytes_text(*bytes) + ": " + duration_text(*expected) + " expected"});
    }
    return all;
}

Markup chart_of(const Json& collectives) {
    LineChart chart;
    chart.words = {
        "collective-time", "Transfer time by message size, measured and expected",
        "Both axes are logarithmic. Dots are measured medians. Lines are expected from the bandwidth."};
    chart.x = {"size of the message", bytes_text, true};
    chart.y = {"", duration_text, true};
    chart.height = 280;
    size_t colour = 0;
    for (auto& [op, points] : points_of(collectives)) {
        const auto by_size = [](const LinePoint& a, const LinePoint& b) { return a.x < b.x; };
        std::stable_sort(points.expected.begin(), points.expected.end(), by_size);
        if (!points.expected.empty())
            chart.series.push_back({op + ", expected", colour + 1, points.expected});
        chart.series.push_back({op + ", measured", colour, points.measured, false});
        colour += 2;
    }
    if (chart.series.empty())
        return missing("how long transfers took: no collective was timed on all its ranks");
    return figure(chart.words, line_chart(chart));
}

Markup table_of(const std::vector<Json>& collectives) {
    PageTable rows = {"Collectives",
                      "llrrrrrrrr",
                      {"operation", "type", "size", "ranks", "count", "transfer", "wait", "bus bandwidth",
                       "expected", "of expected"},
                      {},
                      ""};
    if (collectives.size() > kMostRows)
        rows.rest = "Those " + std::to_string(kMostRows) + " of " + std::to_string(collectives.size()) +
                    " kinds whose transfers took longest.";
    for (const Json& kind : collectives) {
        if (rows.rows.size() == kMostRows) break;
        const std::string dtype = shown(kind["dtype"].words());
        rows.rows.push_back(
            {shown(kind["op"].words()), dtype.empty() ? kNotThere : dtype, cell_by(bytes_text, kind["bytes"]),
             cell_by(count_axis, kind["ranks"]), cell_by(count_axis, kind["count"]),
             cell_by(duration_text, kind["transfer_p50_ns"]), cell_by(duration_text, kind["wait_p50_ns"]),
             cell_by(rate_text, kind["busbw_bytes_per_s"]), cell_by(duration_text, kind["expected_ns"]),
             cell_by(times_text, times_of(kind["transfer_p50_ns"], kind["expected_ns"]))});
    }
    return table(rows);
}

// "8.00 MB a step, 3 calls: 2,000,001 parameters (implied)".
std::string volume_of(const Json& check) {
    const auto bytes = check["bytes_per_step"].amount();
    if (!bytes) return "";
    std::string text = "A step reduces " + bytes_text(*bytes);
    if (const auto implied = check["params_implied"].amount())
        text += ", as much as " + count_axis(*implied) + " parameters are";
    if (const auto ratio = check["ratio_to_params"].amount())
        text +=
            "; " + coordinate(*ratio) + " times the " + count_of_json(check["params"]) + " that were given";
    return text + ".";
}

Markup write(const PageInput& input) {
    const std::vector<Json>& collectives = input.of("collectives").items();
    if (collectives.empty()) return paragraph("No collective was seen.", "soft");
    Markup all;
    const Json& check = input.of("allreduce_check");
    if (const std::string volume = volume_of(check); !volume.empty()) all += paragraph(volume);
    if (check["expected_ns"].is_null())
        all += paragraph("The expected time is not known: give --bandwidth 300GB/s.", "rest");
    all += chart_of(input.of("collectives"));
    all += folded("As a table", table_of(collectives));
    return all;
}

constexpr ReportPart kPart = {"collectives", "Collectives", write};
const ReportPartRegistration kRegistration(kPart);

}  // namespace

}  // namespace gpushim::analysis::part_collectives
