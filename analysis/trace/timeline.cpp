#include "timeline.h"

#include <algorithm>
#include <limits>

#include "../../shim/schema/flags.h"
#include "dropped_spans.h"
#include "ended.h"
#include "plausible.h"

namespace gpushim::analysis {

bool has_device_times(const Trace& trace) { return !trace.base.is_of_first_schema(); }

Timeline::Timeline(const Trace& trace, CallsOf which, int64_t from_ns)
    : lanes_(lanes_of(trace.base)), gone_(dropped_spans(trace)), words_(words_of(trace.base)) {
    from_ns = std::max(from_ns, trace.from_ns);
    if (has_device_times(trace)) {
        read_windows(trace);
        read_clocks(trace);
    }
    if (!gone_.empty()) read_gone(trace.base);
    add_rests(rest_spans(trace));
    std::erase_if(gone_calls_, [&](const Gone& gone) { return gone.span.end_ns <= from_ns; });
    for (const CallTable* table : call_tables(trace.base, which))
        tables_.emplace_back(trace.base, *table, words_, which, Interval{from_ns, trace.until_ns});
    if (!gone_calls_.empty()) next_gone_ = gone_calls_.data();
    table_ = next_table();
}

std::vector<Lane> lanes_of(const Database& base) {
    std::vector<Lane> lanes;
    constexpr int64_t kNonBlocking = 1;  // of a stream's flags
    Query query = base.prepare(
        "SELECT s.id, c.device_id, s.context_id, c.handle_id, s.kind, s.flags FROM stream s"
        " LEFT JOIN context c ON c.id = s.context_id ORDER BY s.id");
    while (query.step()) {
        const bool legacy = query.text(4) == "legacy";
        lanes.push_back({query.number(0), query.maybe(1).value_or(-1), query.maybe(2).value_or(-1),
                         query.maybe(3).value_or(-1), legacy,
                         !legacy && (query.number(5) & kNonBlocking) == 0});
    }
    return lanes;
}

namespace {

// A process that was killed left no row of the window that was open: on each device it lasted from the first
// operation with device times behind the last row to the last one. Our own cost in it is not known.
void add_open_windows(const Database& base, std::vector<Window>& windows) {
    if (base.is_of_first_schema() || !was_recovered(base)) return;
    std::string operations;
    for (const std::string table : {"launch", "copy", "memset", "graph_launch"})
        operations +=
            (operations.empty() ? "" : " UNION ALL ") +
            ("SELECT o.enter_ns, o.stream_id, d.enter_ns NOTNULL AS timed FROM " + table + " o LEFT JOIN " +
             table + "_device d ON d.enter_ns = o.enter_ns WHERE o.enter_ns >= ?1 AND " + kRan.sql("o"));
    int64_t from_ns = std::numeric_limits<int64_t>::min();
    for (const Window& window : windows) from_ns = std::max(from_ns, window.end_ns());
    Query open = base.prepare(
        "WITH o AS (SELECT c.device_id, e.enter_ns, e.timed FROM (" + operations +
        ") e JOIN stream s ON s.id = e.stream_id JOIN context c ON c.id = s.context_id), w AS (SELECT "
        "device_id,"
        " min(enter_ns) AS begin_ns, max(enter_ns) AS last_ns FROM o WHERE timed GROUP BY device_id)"
        "SELECT w.begin_ns, w.last_ns - w.begin_ns, w.device_id, count(*), sum(o.timed) FROM w JOIN o"
        " ON o.device_id = w.device_id AND o.enter_ns BETWEEN w.begin_ns AND w.last_ns"
        " WHERE w.last_ns > w.begin_ns GROUP BY w.device_id");
    open.bind(1, from_ns);
    while (open.step())
        windows.push_back({plausible_time(open.number(0)), plausible_span(open.number(1)),
                           plausible_span(open.number(1)), open.number(2), std::nullopt, open.number(3),
                           open.number(4), 0, 0});
}

// What is left of a window of which some rows are gone: its longest part that has them all, and as much of
// what it counts. None of those that stand for several (no slot): where they were is not known.
std::optional<Window> with_rows(const Window& window, const Intervals& gone) {
    const Interval whole = {window.enter_ns, window.end_ns()};
    if (clip(gone, whole).empty()) return window;
    const Intervals parts = subtract({whole}, gone);
    if (!window.slot || parts.empty()) return {};
    const Interval part =
        *std::max_element(parts.begin(), parts.end(),
                          [](const Interval& a, const Interval& b) { return a.length_ns() < b.length_ns(); });
    const double share = static_cast<double>(part.length_ns()) / static_cast<double>(whole.length_ns());
    const auto of = [share](int64_t count) {
        return static_cast<int64_t>(static_cast<double>(count) * share);
    };
    Window left = window;
    left.enter_ns = part.start_ns;
    left.dur_ns = part.length_ns();
    left.planned_ns = std::min(window.planned_ns, left.dur_ns);
    left.operations = of(window.operations);
    left.timed = of(window.timed);
    left.legacy_events = of(window.legacy_events);
    left.own_host_ns = of(window.own_host_ns);
    return left;
}

}  // namespace

// Of those that the slice begins in, what lies in it.
void Timeline::read_windows(const Trace& trace) {
    const Database& base = trace.base;
    Query query = base.prepare(
        "SELECT enter_ns, dur_ns, planned_ns, device_id, slot, operations, timed, legacy_events, own_host_ns"
        " FROM \"window\" WHERE dur_ns > 0 AND enter_ns >="
        " coalesce((SELECT max(enter_ns) FROM \"window\" WHERE enter_ns <= ?1), ?1)"
        " ORDER BY enter_ns, device_id");
    query.bind(1, trace.from_ns);
    while (query.step())
        windows_.push_back({plausible_time(query.number(0)), plausible_span(query.number(1)),
                            plausible_span(query.number(2)), query.number(3), query.maybe(4), query.number(5),
                            query.number(6), query.number(7), plausible_span(query.number(8))});
    add_open_windows(base, windows_);
    std::vector<Window> all;
    all.swap(windows_);
    Intervals not_here = gone_;
    not_here.push_back({std::numeric_limits<int64_t>::min(), std::max(trace.from_ns, trace.windows_from_ns)});
    not_here.push_back({trace.windows_until_ns, std::numeric_limits<int64_t>::max()});
    not_here = unite(std::move(not_here));
    for (const Window& window : all) {
        const auto left = with_rows(window, not_here);
        windows_left_out_ |= !left;
        if (left) windows_.push_back(*left);
    }
    std::stable_sort(windows_.begin(), windows_.end(),
                     [](const Window& a, const Window& b) { return a.enter_ns < b.enter_ns; });
}

// Which streams were given operations in spans whose rows are gone: totals have whole seconds, old ones more.
// What is summed up without its stream may be of any.
void Timeline::read_gone(const Database& base) {
    std::vector<std::vector<Interval>> asked(lanes_.size());
    Query query = base.prepare(
        "SELECT DISTINCT r.second * 1000000000, (r.second + r.seconds) * 1000000000, s.stream_id"
        " FROM rollup r JOIN series s ON s.id = r.series_id"
        " WHERE s.kind IN ('launch', 'copy', 'memset', 'graph_launch') AND " +
        kRan.sql("s") + " AND s.direction IS NOT 5");
    while (query.step()) {
        const int32_t* lane = query.is_null(2) ? nullptr : words_.lane_of_stream.find(query.number(2));
        for (size_t i = 0; i < asked.size(); ++i)
            if (lane == nullptr || *lane == static_cast<int32_t>(i))
                asked[i].push_back({query.number(0), query.number(1)});
    }
    for (const Interval& span : gone_) gone_calls_.push_back({span, kNoLane});
    for (size_t i = 0; i < asked.size(); ++i) {
        const Intervals seconds = unite(std::move(asked[i]));
        for (const Interval& span : gone_)
            if (const Intervals in_it = clip(seconds, span); !in_it.empty())
                gone_calls_.push_back({{in_it.front().start_ns, span.end_ns}, static_cast<int32_t>(i)});
    }
    std::stable_sort(gone_calls_.begin(), gone_calls_.end(),
                     [](const Gone& a, const Gone& b) { return a.span.start_ns < b.span.start_ns; });
}

// Any stream may have been given work.
void Timeline::add_rests(const Intervals& rests) {
    for (const Interval& span : rests)
        for (int32_t lane = kNoLane; lane < static_cast<int32_t>(lanes_.size()); ++lane)
            gone_calls_.push_back({span, lane});
    std::stable_sort(gone_calls_.begin(), gone_calls_.end(),
                     [](const Gone& a, const Gone& b) { return a.span.start_ns < b.span.start_ns; });
}

void Timeline::read_clocks(const Trace& trace) {
    constexpr int64_t kStillTrueNs = 60'000'000'000;  // a clock is read every 8 s
    Query query = trace.base.prepare(
        "SELECT d.mono_ns, coalesce(d.device_id, c.device_id), d.error_ns, d.event_ns, d.record_ns,"
        " d.latency_ns, d.latency_spread_ns FROM device_clock d"
        " LEFT JOIN context c ON c.id = d.context_id WHERE d.mono_ns >= ?1 ORDER BY d.mono_ns");
    query.bind(1, std::max(trace.from_ns, std::numeric_limits<int64_t>::min() + kStillTrueNs) - kStillTrueNs);
    const auto span = [&query](int column) {
        return query.is_null(column) ? std::nullopt : std::optional(plausible_span(query.number(column)));
    };
    while (query.step())
        clocks_.push_back({plausible_time(query.number(0)), query.maybe(1).value_or(-1),
                           plausible_span(query.number(2)), span(3), span(4), span(5), span(6)});
}

CallRows* Timeline::next_table() {
    CallRows* first = nullptr;
    others_from_ns_ = INT64_MAX;
    for (CallRows& table : tables_) {
        if (!table.has_row()) continue;
        if (first != nullptr)
            others_from_ns_ = std::min(others_from_ns_, std::max(first->enter_ns(), table.enter_ns()));
        if (first == nullptr || table.enter_ns() < first->enter_ns()) first = &table;
    }
    return first;
}

bool Timeline::next_gone(Call& call) {
    const Gone& gone = *next_gone_;
    if (table_ != nullptr && table_->enter_ns() < gone.span.start_ns) return false;
    call = {};
    call.kind = CallKind::gone;
    call.lane = gone.lane;
    call.enter_ns = gone.span.start_ns;
    call.exit_ns = gone.span.end_ns;
    call.target_id = kNoTarget;
    next_gone_ = &gone == &gone_calls_.back() ? nullptr : &gone + 1;
    return true;
}

}  // namespace gpushim::analysis
