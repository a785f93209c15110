// The typical and the worst step as a timeline: of the rank whose worst step is the longest, what its streams
// ran, the longest idle spans by cause, and what its threads called.
#include <algorithm>
#include <map>

#include "../chart/page.h"
#include "../chart/table.h"
#include "../chart/timeline_chart.h"
#include "../report/facts.h"
#include "../text/escape.h"
#include "../text/units.h"
#include "figures.h"
#include "kept_step.h"
#include "part.h"

namespace gpushim::analysis::part_timeline {

namespace {

TimelineChart timeline_of(const PageInput& input, const KeptStep& step) {
    TimelineChart timeline;
    const std::string which = step.why == "worst" ? "The worst step" : "A typical step";
    timeline.words = {"step-" + step.why, which + ": " + step.rank + ", step " + std::to_string(step.number),
                      which + " of " + step.rank + ", " + duration_text(static_cast<double>(step.dur_ns)) +
                          ": a row for each stream, for the longest idle spans, and for each thread."};
    timeline.from_ns = static_cast<double>(step.begin_ns);
    timeline.colours = timeline_colours();
    timeline.rows = stream_rows(input.source, step);
    double last_ns = static_cast<double>(step.begin_ns + step.dur_ns);
    const double begins_at = timeline.from_ns, ends_at = last_ns;
    for (const TimelineRow& row : timeline.rows)
        for (const TimelineSpan& span : row.spans) last_ns = std::max(last_ns, span.until_ns);
    for (std::vector<TimelineRow> rows : {idle_rows(input.source, step), thread_rows(input.source, step)})
        for (TimelineRow& row : rows) timeline.rows.push_back(std::move(row));
    timeline.until_ns = std::min(last_ns, ends_at + 0.5 * (ends_at - begins_at));
    if (last_ns > ends_at) timeline.rules.push_back({ends_at, "the next step begins"});
    return timeline;
}

PageTable causes_of(const PageInput& input, const KeptStep& step) {
    PageTable causes = {"Idle time of this step by cause", "lrrr", {"cause", "idle", "spans", "longest"}, {}};
    Query rows = input.source.run.prepare(
        "SELECT p.cause, sum(p.ns), sum(p.pieces), max(p.longest_ns) FROM gap p JOIN gpu g ON g.gpu_id = "
        "p.gpu_id"
        " WHERE g.rank_id = ?1 AND p.step = ?2 GROUP BY p.cause HAVING sum(p.ns) > 0 ORDER BY 2 DESC, 1");
    rows.bind(1, step.rank_id);
    rows.bind(2, step.step);
    while (rows.step())
        causes.rows.push_back({rows.text(0),
                               {duration_text(rows.real(1)), rows.real(1)},
                               {count_text(rows.number(2)), rows.real(2)},
                               {duration_text(rows.real(3)), rows.real(3)}});
    return causes;
}

Markup drawn(const PageInput& input, const KeptStep& step) {
    const TimelineChart timeline = timeline_of(input, step);
    if (timeline.rows.empty()) return missing("nothing was called in step " + std::to_string(step.number));
    Markup below;
    const PageTable causes = causes_of(input, step);
    if (!causes.rows.empty())
        below += folded("Idle time of this step by cause, as a table", table(causes));
    else
        below += paragraph("This step was not timed as a whole, so its idle time has no causes.", "rest");
    if (step.left_out > 0)
        below += paragraph(
            count_text(step.left_out) + " more calls of this step are not in the run's database.", "rest");
    return figure(timeline.words, timeline_chart(timeline), below);
}

Markup write(const PageInput& input) {
    const std::vector<KeptStep> steps = kept_steps(input.source);
    if (steps.empty()) return missing("no steps were found, or an older gpushim analysed the run");
    Markup all;
    for (const KeptStep& step : steps) all += drawn(input, step);
    all += paragraph(
        "The rank shown is the one with the longest step. Streams and threads are drawn as they ran. Idle "
        "spans are computed without gpushim's own events, so they can be off by the cost of these events.",
        "rest");
    return all;
}

constexpr ReportPart kPart = {"timeline", "Timeline", write};
const ReportPartRegistration kRegistration(kPart);

}  // namespace

}  // namespace gpushim::analysis::part_timeline
