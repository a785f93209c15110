#include "timeline.h"

#include <algorithm>
#include <string>

#include "gone.h"

namespace gpushim::analysis {

namespace {

// what, enter, dur, thread, stream, detail, extra | device: offset, dur, error. `what`: 0 launch, 1 copy, 2
// memset, 3 graph, 4 wait of the host for a stream, event or context, 5 record, 6 wait of a stream.
//
// flags & 7: captured, failed, unfinished. SQLite merges the tables by their ids without sorting.
std::string calls_sql(bool device_times) {
    const auto of = [&](const char* table, const char* columns, const char* unless = "") {
        const std::string name(table);
        const std::string start = "SELECT " + std::string(columns);
        const std::string rest = " WHERE t.flags & 7 = 0" + std::string(unless);
        if (!device_times) return start + ", NULL, NULL, NULL FROM \"" + name + "\" t" + rest;
        return start + ", d.start_offset_ns, d.dur_ns, d.level_error_id FROM \"" + name + "\" t LEFT JOIN " +
               name + "_device d ON d.enter_ns = t.enter_ns" + rest;
    };
    return of("launch", "0, t.enter_ns AS enter_ns, t.dur_ns, t.thread_id, t.stream_id, t.group_id, 0") +
           " UNION ALL " +
           of("copy",
              "1, t.enter_ns, t.dur_ns, t.thread_id, t.stream_id, t.direction,"
              " t.flags & 32 OR t.sides >> 3 = 1",
              " AND t.direction IS NOT 5") +
           " UNION ALL " + of("memset", "2, t.enter_ns, t.dur_ns, t.thread_id, t.stream_id, NULL, 0") +
           " UNION ALL " + of("graph_launch", "3, t.enter_ns, t.dur_ns, t.thread_id, t.stream_id, NULL, 0") +
           " UNION ALL SELECT 4, t.enter_ns, t.dur_ns, t.thread_id, t.stream_id, t.target_id, 0,"
           " NULL, NULL, NULL FROM sync t"
           " WHERE t.flags & 7 = 0 AND t.api_id IN (SELECT id FROM api WHERE kind = 'sync')"
           " UNION ALL SELECT (SELECT CASE kind WHEN 'record' THEN 5 ELSE 6 END FROM api WHERE id = "
           "t.api_id),"
           " t.enter_ns, t.dur_ns, t.thread_id, t.stream_id, t.target_id, 0, NULL, NULL, NULL FROM call t"
           " WHERE t.flags & 7 = 0 AND t.api_id IN (SELECT id FROM api WHERE kind IN ('record', 'wait'))"
           " ORDER BY enter_ns";
}

OperationClass class_of(int64_t what, const Query& row) {
    constexpr OperationClass kCopies[] = {OperationClass::copy, OperationClass::h2d, OperationClass::d2h,
                                          OperationClass::d2d, OperationClass::p2p};
    if (what == 0) return row.is_null(5) ? OperationClass::compute : OperationClass::comm;
    if (what == 2) return OperationClass::memset;
    if (what == 3) return OperationClass::graph;
    const int64_t direction = row.number(5);
    return direction >= 0 && direction < 5 ? kCopies[direction] : OperationClass::copy;
}

}  // namespace

bool has_device_times(const Trace& trace) { return !trace.base.is_of_first_schema(); }

Timeline::Timeline(const Trace& trace) : gone_(gone_spans(trace)) {
    const bool timed = has_device_times(trace);
    read_lanes(trace.base);
    if (timed) {
        read_errors(trace.base);
        read_windows(trace.base);
        read_clocks(trace.base);
    }
    if (!gone_.empty()) read_gone(trace.base);
    calls_.emplace(trace.base.prepare(calls_sql(timed)));
    has_call_ = calls_->step();
}

void Timeline::read_lanes(const Database& base) {
    constexpr int64_t kNonBlocking = 1;  // of a stream's flags
    Query query = base.prepare(
        "SELECT s.id, c.device_id, s.context_id, c.handle_id, s.kind, s.flags FROM stream s"
        " LEFT JOIN context c ON c.id = s.context_id ORDER BY s.id");
    while (query.step()) {
        const bool legacy = query.text(4) == "legacy";
        lane_of_stream_[query.number(0)] = static_cast<int32_t>(lanes_.size());
        lanes_.push_back({query.number(0), query.maybe(1).value_or(-1), query.maybe(2).value_or(-1),
                          query.maybe(3).value_or(-1), legacy,
                          !legacy && (query.number(5) & kNonBlocking) == 0});
    }
}

void Timeline::read_errors(const Database& base) {
    Query query = base.prepare(
        "SELECT id, start_low_ns, start_high_ns, end_low_ns, end_high_ns, likely_ns, events, queued"
        " FROM level_error");
    while (query.step())
        errors_[query.number(0)] = {query.number(1),     query.number(2),
                                    query.number(3),     query.number(4),
                                    query.number(5),     static_cast<int32_t>(query.number(6)),
                                    query.number(7) != 0};
}

void Timeline::read_windows(const Database& base) {
    Query query = base.prepare(
        "SELECT enter_ns, dur_ns, planned_ns, device_id, slot, operations, timed, legacy_events, own_host_ns"
        " FROM \"window\" WHERE dur_ns > 0 ORDER BY enter_ns, device_id");
    while (query.step())
        windows_.push_back({query.number(0), query.number(1), query.number(2), query.number(3),
                            query.maybe(4), query.number(5), query.number(6), query.number(7),
                            query.number(8)});
    windows_left_out_ = std::erase_if(windows_, [this](const Window& window) {
                            return !clip(gone_, {window.enter_ns, window.end_ns()}).empty();
                        }) != 0;
}

// Which streams were given operations in spans whose rows are gone: totals have whole seconds, old ones more.
// What is summed up without its stream may be of any.
void Timeline::read_gone(const Database& base) {
    std::vector<std::vector<Interval>> asked(lanes_.size());
    Query query = base.prepare(
        "SELECT DISTINCT r.second * 1000000000, (r.second + r.seconds) * 1000000000, s.stream_id"
        " FROM rollup r JOIN series s ON s.id = r.series_id"
        " WHERE s.kind IN ('launch', 'copy', 'memset', 'graph_launch') AND s.flags & 7 = 0"
        " AND s.direction IS NOT 5");
    while (query.step()) {
        const auto lane = query.is_null(2) ? lane_of_stream_.end() : lane_of_stream_.find(query.number(2));
        for (size_t i = 0; i < asked.size(); ++i)
            if (lane == lane_of_stream_.end() || lane->second == static_cast<int32_t>(i))
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

void Timeline::read_clocks(const Database& base) {
    Query query = base.prepare(
        "SELECT d.mono_ns, coalesce(d.device_id, c.device_id), d.error_ns, d.event_ns, d.record_ns,"
        " d.latency_ns, d.latency_spread_ns FROM device_clock d"
        " LEFT JOIN context c ON c.id = d.context_id ORDER BY d.mono_ns");
    while (query.step())
        clocks_.push_back({query.number(0), query.maybe(1).value_or(-1), query.number(2), query.maybe(3),
                           query.maybe(4), query.maybe(5), query.maybe(6)});
}

bool Timeline::next(Call& call) {
    if (next_gone(call)) return true;
    if (!has_call_) return false;
    read_call(call);
    has_call_ = calls_->step();
    return true;
}

bool Timeline::next_gone(Call& call) {
    if (next_gone_ == gone_calls_.size()) return false;
    const Gone& gone = gone_calls_[next_gone_];
    if (has_call_ && calls_->number(1) < gone.span.start_ns) return false;
    call = {};
    call.kind = CallKind::gone;
    call.lane = gone.lane;
    call.enter_ns = gone.span.start_ns;
    call.exit_ns = gone.span.end_ns;
    call.target_id = kNoTarget;
    ++next_gone_;
    return true;
}

void Timeline::read_call(Call& call) const {
    const Query& row = *calls_;
    const int64_t what = row.number(0);
    call = {};
    call.enter_ns = row.number(1);
    call.exit_ns = call.enter_ns + row.number(2);
    call.thread_id = row.number(3);
    const auto lane = row.is_null(4) ? lane_of_stream_.end() : lane_of_stream_.find(row.number(4));
    call.lane = lane == lane_of_stream_.end() ? kNoLane : lane->second;
    call.target_id = kNoTarget;
    if (what >= 4) {
        call.kind = what == 4 ? CallKind::sync : what == 5 ? CallKind::record : CallKind::wait;
        call.target_id = row.maybe(5).value_or(kNoTarget);
        return;
    }
    call.kind = CallKind::operation;
    call.type = class_of(what, row);
    // Only from a device to the host do calls return when the bytes are there, and then always.
    call.completes = call.type == OperationClass::d2h && row.number(6) != 0;
    if (!row.is_null(7) && !row.is_null(8)) read_times(call);
}

void Timeline::read_times(Call& call) const {
    const auto found = errors_.find(calls_->number(9));
    const int64_t dur_ns = calls_->number(8);
    if (found == errors_.end() || dur_ns < 0) return;
    const Error& error = found->second;
    const int64_t start_ns = call.enter_ns + calls_->number(7), end_ns = start_ns + dur_ns;
    call.timed = true;
    call.times = {start_ns,
                  start_ns - error.start_low_ns,
                  start_ns + error.start_high_ns,
                  end_ns,
                  end_ns - error.end_low_ns,
                  end_ns + error.end_high_ns,
                  error.likely_ns,
                  error.events,
                  error.queued};
}

}  // namespace gpushim::analysis
