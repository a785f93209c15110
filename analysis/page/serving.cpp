// What a server's iterations and requests are; left out of all other pages.
#include "../chart/page.h"
#include "../chart/stacked_bars.h"
#include "../chart/table.h"
#include "../report/facts.h"
#include "../report/serving_figures.h"
#include "../text/units.h"
#include "figures.h"
#include "part.h"
#include "time_parts.h"

namespace gpushim::analysis::part_serving {

namespace {

constexpr const char* kShares[] = {"compute_share", "exposed_communication_share", "memory_share",
                                   "idle_share"};

Markup chart_of(const Json& serving, bool knows_waits) {
    StackedBars chart;
    chart.words = {"iterations", "What iterations do with a GPU",
                   "A bar for each kind: computing, communication and memory that nothing hides, idle."};
    chart.x = {"of the time of this kind", share_axis};
    chart.parts = {{"compute", kComputeColour},
                   knows_waits ? LegendEntry{"exposed communication", kExposedColour}
                               : LegendEntry{"communication, waits not known", kUntoldColour},
                   {"memory", kMemoryColour},
                   {"idle", kIdleColour}};
    for (const Json& kind : serving["kinds"].items()) {
        StackedBars::Bar bar = {
            kind["kind"].words(), {}, shown_by(percent_text, kind["time_share"]) + " of all"};
        for (const char* share : kShares) bar.values.push_back(kind[share].amount().value_or(0));
        chart.bars.push_back(std::move(bar));
    }
    return figure(chart.words, stacked_bars(chart));
}

Markup kinds_table(const Json& serving, bool knows_waits) {
    PageTable table_rows = {"Iterations by kind",
                            "lrrrrrrrr",
                            {"kind", "iterations", "without a graph", "median", "p95", "p99", "compute",
                             knows_waits ? "exposed comm" : "communication, waits not known", "idle"},
                            {},
                            ""};
    for (const Json& kind : serving["kinds"].items()) {
        const Json& length = kind["length"];
        table_rows.rows.push_back(
            {kind["kind"].words(), cell_by(count_axis, kind["iterations"]),
             cell_by(count_axis, kind["without_graph"]), cell_by(duration_text, length["p50_ns"]),
             cell_by(duration_text, length["p95_ns"]), cell_by(duration_text, length["p99_ns"]),
             cell_by(percent_text, kind["compute_share"]),
             cell_by(percent_text, kind["exposed_communication_share"]),
             cell_by(percent_text, kind["idle_share"])});
    }
    return table(table_rows);
}

Markup idle_table(const Json& serving, const ServingFigures& figures) {
    PageTable table_rows = {"Why the GPU was idle", "lr", {"because of", "of the time"}, {}, ""};
    for (const Json& one : serving["idle"].items())
        table_rows.rows.push_back(
            {figures.words_of(one["why"].words()), cell_by(percent_text, one["share"])});
    return table_rows.rows.empty() ? Markup() : table(table_rows);
}

Markup requests_table(const Json& requests) {
    PageTable table_rows = {"The slowest requests",
                            "lrrrrr",
                            {"request", "latency", "queued", "decodes", "prefills", "GPU idle"},
                            {},
                            ""};
    for (const Json& one : requests["slowest"].items())
        table_rows.rows.push_back(
            {one["name"].words(), cell_by(duration_text, one["latency_ns"]),
             cell_by(duration_text, one["queued_ns"]), cell_by(duration_text, one["decodes_ns"]),
             cell_by(duration_text, one["prefills_ns"]), cell_by(duration_text, one["idle_ns"])});
    return table_rows.rows.empty() ? Markup() : table(table_rows);
}

Markup titled(const char* title, const Markup& content) {
    if (content.empty()) return {};
    Markup all = element("h3", {}, title);
    all += content;
    return all;
}

Markup write(const PageInput& input) {
    const Json& serving = input.of("serving");
    if (serving["kinds"].items().empty()) return {};
    const Json& tokens = serving["between_tokens"];
    Markup all;
    if (!tokens["p50_ns"].is_null())
        all += paragraph("From one token of a sequence to its next: " + duration_of(tokens["p50_ns"]) +
                             " median, " + duration_of(tokens["p95_ns"]) + " p95, " +
                             duration_of(tokens["p99_ns"]) + " p99, with prefills between them.",
                         "soft");
    const ServingFigures& figures = serving_figures(input.source);
    all += chart_of(serving, figures.knows_waits);
    all += kinds_table(serving, figures.knows_waits);
    all += titled("Why the GPU was idle", idle_table(serving, figures));
    if (!serving["requests"].is_null())
        all += titled("The slowest requests", requests_table(serving["requests"]));
    return all;
}

constexpr ReportPart kPart = {"serving", "Serving", write};
const ReportPartRegistration kRegistration(kPart);

}  // namespace

}  // namespace gpushim::analysis::part_serving
