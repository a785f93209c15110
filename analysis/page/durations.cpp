// How long launching takes and how long kernels run: how often each duration came.
#include <map>

#include "../chart/bar_chart.h"
#include "../chart/page.h"
#include "../chart/table.h"
#include "../run/sql/histogram.h"
#include "../text/units.h"
#include "figures.h"
#include "part.h"

namespace gpushim::analysis::part_durations {

namespace {

constexpr int32_t kTogether = 4;  // buckets of the histogram that are one bar: a quarter of a power of two
constexpr size_t kMostRows = 100;
constexpr int64_t kFew = 20;  // of fewer, bars show chance

// Of all GPUs together; what is below 1 ns is in no bar.
std::vector<BarChart::Bar> bars_of(const Database& run, const std::string& what, int64_t& count) {
    Query rows = run.prepare(
        "SELECT bucket / ?2, sum(count) FROM histogram WHERE what = ?1 AND bucket > 0 GROUP BY 1 ORDER BY 1");
    rows.bind(1, what);
    rows.bind(2, int64_t{kTogether});
    std::vector<BarChart::Bar> bars;
    count = 0;
    while (rows.step()) {
        const auto first = static_cast<int32_t>(rows.number(0)) * kTogether;
        bars.push_back({static_cast<double>(std::max<int64_t>(bucket_low(first), 1)),
                        static_cast<double>(bucket_high(first + kTogether - 1)) + 1, rows.real(1)});
        count += rows.number(1);
    }
    for (BarChart::Bar& bar : bars) bar.value /= static_cast<double>(count);
    return bars;
}

Markup histogram_of(const Database& run, const char* what, const char* title, size_t colour,
                    const char* none) {
    BarChart chart;
    int64_t count = 0;
    chart.bars = bars_of(run, what, count);
    if (count == 0) return missing(std::string(title) + ": " + none);
    if (count < kFew)
        return paragraph(
            title + std::string(": ") + count_text(count) +
                (count == 1 ? " is recorded, too few to draw." : " are recorded, too few to draw."),
            "rest");
    chart.words = {std::string("histogram-") + what, title + std::string(", of ") + count_text(count),
                   "Share of each duration. The axis is logarithmic."};
    for (char& letter : chart.words.id)
        if (letter == '_') letter = '-';
    chart.x = {"how long", duration_text, true};
    chart.y = {"", share_axis, false, true};
    chart.colour = colour;
    return figure(chart.words, bar_chart(chart));
}

Markup launches_of(const PageInput& input) {
    const std::vector<Json>& launches = input.of("launch").items();
    PageTable rows = {"Launches by stream",
                      "llrrrrrr",
                      {"GPU", "stream", "launches", "call, median", "latency on an empty GPU", "95 of 100",
                       "small kernels", "work submitted ahead, least of 20"},
                      {},
                      ""};
    if (launches.size() > kMostRows)
        rows.rest = "Those " + std::to_string(kMostRows) + " of " +
                    count_axis(static_cast<double>(launches.size())) + " streams with the most launches.";
    const GpuNames names(input.source.run);
    for (const Json& launch : launches) {
        if (rows.rows.size() == kMostRows) break;
        rows.rows.push_back({names.of(launch), launch["stream"].words(), cell_by(count_axis, launch["count"]),
                             cell_by(duration_text, launch["api_p50_ns"]),
                             cell_by(duration_text, launch["latency_p50_ns"]),
                             cell_by(duration_text, launch["latency_p95_ns"]),
                             cell_by(count_axis, launch["small_kernel_count"]),
                             cell_by(duration_text, launch["runway_p5_ns"])});
    }
    return rows.rows.empty() ? Markup() : folded("Launches by stream, as a table", table(rows));
}

Markup write(const PageInput& input) {
    const Database& run = input.source.run;
    Markup all = histogram_of(run, "latency_empty", "From the launch call to the start on an empty GPU", 2,
                              "no launch with sure device times found the GPU empty");
    all += histogram_of(run, "api_call", "Inside a launch call", 5, "no call was recorded");
    all += histogram_of(run, "kernel", "How long kernels ran", 0,
                        "no kernel has device times, or an older gpushim analysed the run");
    all += launches_of(input);
    return all;
}

constexpr ReportPart kPart = {"launches", "Launches", write};
const ReportPartRegistration kRegistration(kPart);

}  // namespace

}  // namespace gpushim::analysis::part_durations
