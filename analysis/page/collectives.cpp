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
    chart.words = {"collective-time", "Transfer time by message size, measured and expected",
                   "Both axes are logarithmic. Dots are measured medians. Lines are expected from bandwidth "
                   "and latency."};
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
                      "llrrrrrrrrr",
                      {"operation", "type", "size", "ranks", "count", "transfer", "wait", "bus bandwidth",
                       "expected", "latency in it", "of expected"},
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
             cell_by(duration_text, kind["expected_latency_ns"]),
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

// "α = 5.00 us, by the AllReduce of 4 B …", of the communicator whose transfers took longest.
std::string latency_of(const std::vector<Json>& collectives) {
    for (const Json& kind : collectives) {
        if (kind["expected_ns"].is_null() || kind["expected_by"].words() != "ring") continue;
        const auto latency = kind["latency_ns"].amount(), bytes = kind["latency_bytes"].amount();
        if (!latency || !bytes)
            return "\u03b1 is not known, because no message below 256 KiB was timed on all ranks: the times "
                   "expected here are by bandwidth alone, too short for small messages.";
        return "\u03b1 is " + duration_text(*latency) + ": what the smallest messages, of " +
               bytes_text(*bytes) + ", took in the best tenth of their calls, over their rounds.";
    }
    return "";
}

// What lines of the chart are, where a ring is expected.
Markup model_of(const std::vector<Json>& collectives) {
    const std::string latency = latency_of(collectives);
    if (latency.empty()) return {};
    return paragraph(
        "Expected of an AllReduce of S bytes on n ranks by a ring with bandwidth B: "
        "2(n\u22121)/n \u00b7 S/B + 2(n\u22121) \u00b7 \u03b1; other operations by their own "
        "factors. " +
            latency,
        "rest");
}

Markup write(const PageInput& input) {
    const std::vector<Json>& collectives = input.of("collectives").items();
    if (collectives.empty()) return {};
    Markup all;
    const Json& check = input.of("allreduce_check");
    if (const std::string volume = volume_of(check); !volume.empty()) all += paragraph(volume);
    if (check["expected_ns"].is_null() && !check["bytes_per_step"].is_null())
        all += paragraph("The expected time is not known: give --bandwidth 300GB/s.", "rest");
    all += chart_of(input.of("collectives"));
    all += model_of(collectives);
    all += folded("As a table", table_of(collectives));
    return all;
}

constexpr ReportPart kPart = {"collectives", "Collectives", write};
const ReportPartRegistration kRegistration(kPart);

}  // namespace

}  // namespace gpushim::analysis::part_collectives
