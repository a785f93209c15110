// The typical and the worst step as a timeline: the ranks under each other on one clock, of each what its
// streams ran, the longest idle spans by cause, its own ranges, and what its threads called.
#include <algorithm>
#include <map>
#include <set>

#include "../chart/page.h"
#include "../chart/table.h"
#include "../chart/timeline_chart.h"
#include "../report/facts.h"
#include "../text/escape.h"
#include "../text/units.h"
#include "evidence_links.h"
#include "figures.h"
#include "kept_step.h"
#include "part.h"
#include "range_rows.h"
#include "step_rows.h"
#include "timeline_colour.h"

namespace gpushim::analysis::part_timeline {

namespace {

struct MostRows {  // of a rank
    size_t streams, idle, threads;
    MostRanges ranges;
};
constexpr MostRows kOfOne = {10, 10, 4, {3, 4}}, kOfSeveral = {3, 1, 1, {1, 2}};

std::string which_of(const KeptStep& step) {
    if (step.is_excerpt()) return "An excerpt of the run";
    return step.why == "worst" ? "The worst step" : "A typical step";
}

std::string title_of(const KeptStep& step) {
    const RankInStep& first = step.ranks.front();
    const char* const several = first.rank.starts_with("process") ? " processes" : " ranks";
    const std::string of = step.ranks.size() == 1 ? first.rank : std::to_string(step.ranks.size()) + several;
    if (!step.is_excerpt()) return which_of(step) + ": " + of + ", step " + std::to_string(first.number);
    return which_of(step) + ": " + of + ", " +
           duration_text(static_cast<double>(step.end_ns() - step.begin_ns())) + " from " +
           duration_text(static_cast<double>(step.begin_ns() - first.first_ns)) + " on";
}

std::string description_of(const KeptStep& step) {
    return which_of(step) + ", " + duration_text(static_cast<double>(step.end_ns() - step.begin_ns())) +
           ": of each rank a row for each stream, for the longest idle spans, for its own ranges, and for "
           "each thread.";
}

// "rank 3 · straggler · most own work, 4.10 ms".
std::string heading_of(const KeptStep& step, const RankInStep& rank) {
    std::string text = rank.rank;
    const auto add = [&](const std::string& more) { text += " \u00b7 " + more; };
    if (!step.is_excerpt() && rank.number != step.ranks.front().number)
        add("step " + std::to_string(rank.number));
    if (rank.is_straggler) add("the straggler");
    const auto ends = step.by_work();
    const bool is_most = ends && ends->most == &rank, is_least = ends && ends->least == &rank;
    if (rank.own_work_ns)
        add(std::string(is_most    ? "most own work, "
                        : is_least ? "least own work, "
                                   : "own work ") +
            duration_text(static_cast<double>(*rank.own_work_ns)));
    if (rank.clock == "wall") add("placed by its host's wall clock");
    if (rank.clock == "none") add("its clock is not known: begins with the others");
    return text;
}

// What lies outside of the excerpt goes: there only some of it is kept.
void cut_off(const KeptStep& excerpt, std::vector<TimelineRow>& rows) {
    const auto from_ns = static_cast<double>(excerpt.begin_ns()),
               until_ns = static_cast<double>(excerpt.end_ns());
    for (TimelineRow& row : rows)
        std::erase_if(row.spans, [&](const TimelineSpan& span) {
            return span.until_ns <= from_ns || span.from_ns >= until_ns;
        });
    std::erase_if(rows, [](const TimelineRow& row) { return row.spans.empty(); });
}

void add_rank(const PageInput& input, const KernelNames& names, const KeptStep& step, const RankInStep& rank,
              TimelineChart& timeline) {
    const bool is_one = step.ranks.size() == 1;
    const MostRows most = is_one ? kOfOne : kOfSeveral;
    const size_t first_row = timeline.rows.size();
    if (!is_one) timeline.rows.push_back({heading_of(step, rank), {}, false, true});
    double last_ns = static_cast<double>(rank.end_ns());
    std::vector<TimelineRow> streams = stream_rows(input.source, names, rank, most.streams);
    for (const TimelineRow& row : streams)
        for (const TimelineSpan& span : row.spans) last_ns = std::max(last_ns, span.until_ns);
    for (std::vector<TimelineRow> rows : {std::move(streams), idle_rows(input.source, rank, most.idle),
                                          range_rows(input.source, rank, most.ranges),
                                          thread_rows(input.source, names, rank, most.threads)}) {
        if (step.is_excerpt()) cut_off(step, rows);
        for (TimelineRow& row : rows) timeline.rows.push_back(std::move(row));
    }
    if (step.is_excerpt()) return;
    const size_t rows = timeline.rows.size() - first_row;
    timeline.until_ns = std::max(timeline.until_ns, last_ns);
    const auto end_ns = static_cast<double>(rank.end_ns()), begin_ns = static_cast<double>(rank.begin_ns);
    if (is_one && last_ns <= end_ns) return;
    // Below the heading, whose words they would go through; only the first one's words are written.
    if (first_row == 0)
        timeline.rules.push_back({end_ns, "the next step begins", 0, rows});
    else
        timeline.rules.push_back({end_ns, "", first_row + 1, rows - 1});
    if (begin_ns > timeline.from_ns) timeline.rules.push_back({begin_ns, "", first_row + 1, rows - 1});
}

TimelineChart timeline_of(const PageInput& input, const KeptStep& step) {
    TimelineChart timeline;
    timeline.words = {"step-" + step.why, title_of(step), description_of(step)};
    timeline.from_ns = static_cast<double>(step.begin_ns());
    timeline.until_ns = static_cast<double>(step.end_ns());
    timeline.colours = timeline_colours();
    timeline.to_find = found_by_links(input);
    if (step.is_excerpt())
        timeline.since = "since the excerpt begins";
    else if (step.ranks.size() > 1)
        timeline.since = "since the first rank's step began";
    const double longest_ns = timeline.until_ns + 0.5 * (timeline.until_ns - timeline.from_ns);
    const KernelNames names(input);
    for (const RankInStep& rank : step.ranks) add_rank(input, names, step, rank, timeline);
    timeline.until_ns = std::min(timeline.until_ns, longest_ns);
    return timeline;
}

PageTable causes_of(const PageInput& input, const KeptStep& step) {
    PageTable causes = {
        "Idle time of this step by cause", "llrrr", {"rank", "cause", "idle", "spans", "longest"}, {}};
    for (const RankInStep& rank : step.ranks) {
        Query rows = input.source.run.prepare(
            "SELECT p.cause, sum(p.ns), sum(p.pieces), max(p.longest_ns) FROM gap p JOIN gpu g ON g.gpu_id ="
            " p.gpu_id WHERE g.rank_id = ?1 AND p.step = ?2 GROUP BY p.cause HAVING sum(p.ns) > 0"
            " ORDER BY 2 DESC, 1");
        rows.bind(1, rank.rank_id);
        rows.bind(2, rank.step);
        while (rows.step())
            causes.rows.push_back({rank.rank,
                                   rows.text(0),
                                   {duration_text(rows.real(1)), rows.real(1)},
                                   {count_text(rows.number(2)), rows.real(2)},
                                   {duration_text(rows.real(3)), rows.real(3)}});
    }
    return causes;
}

// "8 of 1,000 ranks: …", or nothing where all are drawn.
std::string left_out_of(const KeptStep& step) {
    const auto drawn = static_cast<int64_t>(step.ranks.size());
    if (drawn >= step.of_ranks) return "";
    if (step.is_excerpt())
        return count_text(drawn) + " of " + count_text(step.of_ranks) + " ranks " +
               (drawn == 1 ? "is drawn: there is no time of which the calls of all are kept."
                           : "are drawn, evenly chosen.");
    const bool by_work = step.ranks.front().own_work_ns.has_value();
    return count_text(drawn) + " of " + count_text(step.of_ranks) +
           " ranks are drawn: the straggler, if there is one, and by " +
           (by_work ? "work of their own in this step" : "the length of this step") +
           " the one with most, the one with least, and others evenly between them.";
}

std::string hosts_of(const KeptStep& step, const char* clock) {
    std::set<std::string> there;
    for (const RankInStep& rank : step.ranks)
        if (rank.clock == clock) there.insert(rank.host);
    std::string hosts;
    for (const std::string& host : there) hosts += (hosts.empty() ? "" : ", ") + host;
    return hosts;
}

// How the clocks of the ranks stand to each other.
std::string clocks_of(const KeptStep& step) {
    std::string text;
    int64_t error_ns = 0;
    for (const RankInStep& rank : step.ranks) error_ns = std::max(error_ns, rank.clock_error_ns.value_or(0));
    if (const std::string hosts = hosts_of(step, "collectives"); !hosts.empty())
        text += "Clocks of other hosts (" + hosts + ") are aligned by collectives, to within " +
                duration_text(static_cast<double>(error_ns)) + ". ";
    if (const std::string hosts = hosts_of(step, "wall"); !hosts.empty())
        text +=
            "Of " + hosts +
            " no collective tells the clock beside the first rank's: its ranks are placed by wall clocks, "
            "which may be off by more than a step. ";
    if (const std::string hosts = hosts_of(step, "none"); !hosts.empty())
        text += "Of " + hosts +
                " neither collectives nor wall clocks tell when it was: what is drawn of its "
                "ranks begins with the others' step. ";
    const bool by_time = std::any_of(step.ranks.begin(), step.ranks.end(),
                                     [](const RankInStep& rank) { return rank.step_by == "time"; });
    if (by_time && step.ranks.size() > 1 && !step.is_excerpt())
        text += "Some ranks have no collective in common: of these the step is drawn that ran at that time. ";
    return text;
}

std::string what_it_is(const RankInStep& rank) {
    return "No steps were found. This is no step but a part of the run, " +
           duration_text(static_cast<double>(rank.dur_ns)) + " of " +
           duration_text(static_cast<double>(rank.last_ns - rank.first_ns)) +
           ", from the stretch in which half of the operations had been called. It need not be typical.";
}

Markup drawn(const PageInput& input, const KeptStep& step) {
    const TimelineChart timeline = timeline_of(input, step);
    if (timeline.rows.size() == (step.ranks.size() > 1 ? step.ranks.size() : 0))
        return missing("nothing was called in " +
                       (step.is_excerpt() ? "the excerpt of the run"
                                          : "step " + std::to_string(step.ranks.front().number)));
    Markup below;
    for (const std::string& words : {left_out_of(step), clocks_of(step)})
        if (!words.empty()) below += paragraph(words, "rest");
    if (step.is_excerpt()) {
        below += paragraph(what_it_is(step.ranks.front()), "rest");
        return figure(timeline.words, timeline_chart(timeline), below);
    }
    const PageTable causes = causes_of(input, step);
    if (!causes.rows.empty())
        below += folded("Idle time of this step by cause, as a table", table(causes));
    else
        below += paragraph("This step was not timed as a whole, so its idle time has no causes.", "rest");
    int64_t left_out = 0;
    for (const RankInStep& rank : step.ranks) left_out += rank.left_out;
    if (left_out > 0)
        below += paragraph(count_text(left_out) + " more calls of this step are not in the run's database.",
                           "rest");
    return figure(timeline.words, timeline_chart(timeline), below);
}

bool is_kept(const PageInput& input, const char* condition) {
    Query row = input.source.run.prepare("SELECT EXISTS (SELECT 1 FROM kept_call WHERE " +
                                         std::string(condition) + ")");
    return row.step() && row.number(0) != 0;
}

// What holds for each of the drawings.
std::string rules_of(const PageInput& input, const KeptStep& first) {
    std::string text;
    if (first.ranks.size() > 1)
        text += std::string("Of each rank at most three streams and the busiest thread are drawn") +
                (first.is_excerpt() ? ". " : "; dashed lines are where its step begins and ends. ");
    text += std::string("Streams and threads are drawn as they ran; paler is what was called ") +
            (first.is_excerpt() ? "before. " : "before the step. ") +
            "Kernels have the colour of their family, which is inferred from their names.";
    const MostRanges& most = first.ranks.size() > 1 ? kOfSeveral.ranges : kOfOne.ranges;
    if (is_kept(input, "kind = 'graph' AND start_ns IS NOT NULL AND ran_ns IS NOT NULL"))
        text +=
            " A launch of a graph is drawn as one: gaps between the operations in it are not told apart from "
            "them, and count as busy.";
    if (is_kept(input, "kind IN ('range', 'process_range')"))
        text += " Ranges of the program are those that lie in the " +
                std::string(first.is_excerpt() ? "excerpt" : "step") + " as a whole, of at most " +
                std::to_string(most.threads) + (most.threads == 1 ? " thread" : " threads") + ", " +
                std::to_string(most.deep) + " deep.";
    if (!is_imported(input.report))
        text +=
            " Idle spans are computed without gpushim's own events, so they can be off by the cost of these "
            "events.";
    return text;
}

Markup write(const PageInput& input) {
    const std::vector<KeptStep> steps = kept_steps(input.source);
    if (steps.empty()) return missing("no steps were found");
    Markup all;
    for (const KeptStep& step : steps) all += drawn(input, step);
    all += paragraph(rules_of(input, steps.front()), "rest");
    return all;
}

constexpr ReportPart kPart = {"timeline", "Timeline", write};
const ReportPartRegistration kRegistration(kPart);

}  // namespace

}  // namespace gpushim::analysis::part_timeline
