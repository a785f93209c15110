#include "range_rows.h"

#include <algorithm>
#include <map>

#include "../chart/frame.h"
#include "../text/escape.h"
#include "../text/units.h"
#include "../text/width.h"
#include "timeline_colour.h"

namespace gpushim::analysis {

namespace {

constexpr size_t kLongestName = 120;
constexpr int64_t kNoThread = -1;  // a range that may end in another one

struct Launched {
    int64_t enter_ns;
    int64_t operations, timed, ran_ns;  // up to and with this one
};
using LaunchedOf = std::map<int64_t, std::vector<Launched>>;  // by thread, by when it was called

struct Range {
    TimelineSpan span;
    int64_t enter_ns, end_ns;
};

struct Lanes {
    std::vector<std::vector<Range>> lanes;  // the outermost first
    double outermost_ns = 0;
    std::string thread, label;

    // In the first that is free: the one below all that it is nested in.
    void add(Range range, size_t most) {
        size_t lane = 0;
        while (lane < lanes.size() && lanes[lane].back().end_ns > range.enter_ns) ++lane;
        if (lane == 0) outermost_ns += range.span.until_ns - range.span.from_ns;
        if (lane >= most) return;
        if (lane > 0 && range.end_ns <= lanes[lane - 1].back().end_ns)
            range.span.details.push_back("nested in " + lanes[lane - 1].back().span.name);
        if (lane == lanes.size()) lanes.emplace_back();
        lanes[lane].push_back(std::move(range));
    }
};

Query of_kept_step(const ReportSource& source, const RankInStep& rank, const char* sql) {
    Query rows = source.run.prepare(sql);
    rows.bind(1, rank.rank_id);
    rows.bind(2, rank.step);
    return rows;
}

LaunchedOf launched_in(const ReportSource& source, const RankInStep& rank) {
    LaunchedOf all;
    Query rows = of_kept_step(source, rank,
                              "SELECT tid, enter_ns, start_ns IS NOT NULL AND ran_ns IS NOT NULL, ran_ns"
                              " FROM kept_call WHERE rank_id = ?1 AND step = ?2 AND before = 0"
                              " AND kind IN ('launch', 'copy', 'memset', 'graph') ORDER BY enter_ns");
    while (rows.step()) {
        std::vector<Launched>& of = all[rows.number(0)];
        Launched next = of.empty() ? Launched{} : of.back();
        next.enter_ns = rows.number(1);
        ++next.operations;
        next.timed += rows.number(2);
        if (rows.number(2) != 0) next.ran_ns += plausible_span(rows.number(3));
        of.push_back(next);
    }
    return all;
}

// "launched 12 operations, which ran 3.10 ms in all".
std::string launched_text(const LaunchedOf& all, int64_t thread, const Range& range, bool is_cut) {
    const auto found = all.find(thread);
    // Where calls are left out at the end, those of this range may be among them.
    const bool is_kept = !is_cut || (found != all.end() && found->second.back().enter_ns >= range.end_ns);
    const char* const nothing = is_kept ? "launched nothing" : "its operations are not kept";
    if (found == all.end()) return nothing;
    const auto up_to = [&](int64_t ns) {
        const auto at = std::lower_bound(
            found->second.begin(), found->second.end(), ns,
            [](const Launched& launched, int64_t enter_ns) { return launched.enter_ns < enter_ns; });
        return at == found->second.begin() ? Launched{} : *std::prev(at);
    };
    const Launched before = up_to(range.enter_ns), until = up_to(range.end_ns);
    const int64_t operations = until.operations - before.operations, timed = until.timed - before.timed;
    if (operations == 0) return nothing;
    const std::string ran = duration_text(static_cast<double>(until.ran_ns - before.ran_ns));
    return std::string("launched ") + (is_cut ? "at least " : "") + count_text(operations) +
           (operations == 1 ? " operation" : " operations") +
           (timed == 0 ? "; when these ran is not recorded"
            : timed == operations
                ? ", which ran " + ran + " in all"
                : "; the " + count_text(timed) + " with device times ran " + ran + " in all");
}

std::string name_of_thread(std::string name) {
    if (name.starts_with("thread ")) name.erase(0, name.find(' ') + 1);
    return name.empty() ? "that has no name" : name;
}

// Each with its lanes: which thread it is of, and its ranges.
std::map<int64_t, Lanes> lanes_of(const ReportSource& source, const RankInStep& rank, size_t most) {
    const LaunchedOf launched = launched_in(source, rank);
    std::map<int64_t, Lanes> all;
    Query rows = of_kept_step(
        source, rank,
        "SELECT CASE c.kind WHEN 'range' THEN c.tid END, c.enter_ns, c.dur_ns, coalesce(t.text, ''),"
        " coalesce(k.name, '') FROM kept_call c"
        " LEFT JOIN kept_text t ON t.rank_id = c.rank_id AND t.id = c.name_id"
        " LEFT JOIN kept_track k ON k.rank_id = c.rank_id AND k.kind = 'thread' AND k.number = c.tid"
        " WHERE c.rank_id = ?1 AND c.step = ?2 AND c.before = 0 AND c.dur_ns IS NOT NULL"
        " AND c.kind IN ('range', 'process_range') ORDER BY c.enter_ns, c.dur_ns DESC, c.nth");
    while (rows.step()) {
        const int64_t thread = rows.maybe(0).value_or(kNoThread);
        Lanes& lanes = all[thread];
        if (lanes.label.empty()) {
            lanes.label = thread == kNoThread ? "process" : std::to_string(thread);
            lanes.thread = name_of_thread(source.name("thread", rows.text(4)));
        }
        const int64_t enter_ns = plausible_time(rows.number(1)), ns = plausible_span(rows.number(2));
        const auto from_ns = static_cast<double>(rank.here(enter_ns));
        Range range = {
            {from_ns, from_ns + static_cast<double>(ns), static_cast<size_t>(TimelineColour::range),
             shortened(source.name("range", rows.text(3)), kLongestName)},
            enter_ns,
            enter_ns + ns};
        range.span.details = {rank.rank + (thread == kNoThread ? ", a range that any thread may end"
                                                               : ", thread " + lanes.thread + ", a range")};
        if (thread != kNoThread)
            range.span.details.push_back(launched_text(launched, thread, range, rank.left_out > 0));
        lanes.add(std::move(range), most);
    }
    return all;
}

}  // namespace

std::vector<TimelineRow> range_rows(const ReportSource& source, const RankInStep& rank, MostRanges most) {
    std::map<int64_t, Lanes> all = lanes_of(source, rank, most.deep);
    std::vector<Lanes*> longest;
    for (auto& [thread, lanes] : all) longest.push_back(&lanes);
    std::stable_sort(longest.begin(), longest.end(),
                     [](const Lanes* a, const Lanes* b) { return a->outermost_ns > b->outermost_ns; });
    longest.resize(std::min(longest.size(), most.threads));
    std::vector<TimelineRow> rows;
    for (Lanes* const lanes : longest)
        for (size_t i = 0; i < lanes->lanes.size(); ++i) {
            if (i == 0) rows.push_back({longest.size() > 1 ? "ranges, " + lanes->label : "ranges", {}});
            if (i > 0) rows.push_back({"", {}});
            rows.back().is_aside = true;
            for (Range& range : lanes->lanes[i]) rows.back().spans.push_back(std::move(range.span));
        }
    return rows;
}

}  // namespace gpushim::analysis
