#include "undisturbed.h"

#include <algorithm>
#include <deque>
#include <unordered_map>

namespace gpushim::analysis {

namespace {

constexpr int64_t kNever = INT64_MIN / 4;

// A stream's queue takes 1,024 entries, an operation or an event each (an H200's was full of 510 launches
// with an event behind each): a thread that launches into one as full as this goes on as fast as the stream.
constexpr int64_t kFullEntries = 900;
constexpr size_t kRoom = 1024;          // without our events, of launches alone
constexpr int64_t kOwnCallNs = 10'000;  // at most, that a launch takes which does not wait
constexpr int64_t kAtOnceNs = 100'000;  // after its call, that an operation starts on an empty stream
constexpr int64_t kWorkNs = 50'000;     // between two launches, and more is the host's own

// The same moment as it was and as it would have been.
struct Moment {
    int64_t was_ns = kNever;
    int64_t would_ns = kNever;

    void at_least(const Moment& other) {
        was_ns = std::max(was_ns, other.was_ns);
        would_ns = std::max(would_ns, other.would_ns);
    }
};

struct Stream {
    struct Queued {
        Moment end;
        int64_t entries;
    };
    Moment end;                  // of its last operation
    Moment joins;                // what it was told to wait for since
    int64_t own_ns = 0;          // of our event behind the last operation
    std::deque<Queued> queue;    // operations that may not be over
    int64_t entries = 0;         // … which take so many
    Moment passed;               // end of the newest that is over
    std::deque<int64_t> starts;  // of the newest kRoom operations, as they would have been
    bool was_empty = false;      // since the span began, so how far the host is ahead is known

    void push(int64_t start_ns, int64_t events) {
        queue.push_back({end, 1 + events});
        entries += 1 + events;
        starts.push_back(start_ns);
        if (starts.size() > kRoom) starts.pop_front();
    }
    void pass(int64_t host_ns) {
        for (; !queue.empty() && queue.front().end.was_ns <= host_ns; queue.pop_front()) {
            passed = queue.front().end;
            entries -= queue.front().entries;
        }
    }
    int64_t earlier_ns() const { return passed.was_ns == kNever ? 0 : passed.was_ns - passed.would_ns; }
    // When there is room for one more.
    int64_t room_ns() const { return starts.size() < kRoom ? kNever : starts.front(); }
};

// The later operations start, the longer it all takes and the smaller is their share of it.
int64_t latency_ns(const OwnCost& cost, Lean lean) {
    const int64_t off_ns = cost.latency_spread_ns / 2;
    if (lean == Lean::shorter || lean == Lean::shortest) return cost.latency_ns + off_ns;
    return std::max(int64_t{0}, cost.latency_ns - (lean == Lean::estimate ? 0 : off_ns));
}

int64_t duration_ns(const DeviceTimes& times, Lean lean) {
    const int64_t dur_ns = times.end_ns - times.start_ns;
    const int64_t likely_ns = 2 * times.likely_ns;
    const int64_t least_ns = std::max(int64_t{1}, times.end_low_ns - times.start_high_ns);
    const int64_t most_ns = std::max(dur_ns, times.end_high_ns - times.start_low_ns);
    switch (lean) {
        case Lean::shorter:
            return std::max(least_ns, dur_ns - likely_ns);
        case Lean::longer:
            return std::min(most_ns, dur_ns + likely_ns);
        case Lean::shortest:
            return std::min(least_ns, dur_ns);
        case Lean::longest:
            return most_ns;
        case Lean::estimate:
            break;
    }
    return dur_ns;
}

// Whether threads launch one after the other and never at the same time: as a program's backward pass on a
// thread of its own does.
bool take_turns(std::span<const Call> calls) {
    constexpr int64_t kSometimes = 20;  // once in so many changes of the thread is by chance
    int64_t changes = 0, overlaps = 0;
    const Call* last = nullptr;
    for (const Call& call : calls) {
        if (call.kind != CallKind::operation) continue;
        if (last != nullptr && last->thread_id != call.thread_id) {
            ++changes;
            overlaps += call.enter_ns < last->exit_ns ? 1 : 0;
        }
        last = &call;
    }
    return overlaps * kSometimes <= changes;
}

class Replay {
  public:
    Replay(std::span<const Call> calls, std::span<const Lane> lanes, const OwnCost& cost, Lean lean)
        : calls_(calls),
          lanes_(lanes),
          cost_(cost),
          lean_(lean),
          streams_(lanes.size()),
          take_turns_(take_turns(calls)) {}

    // One after the other: the call as it would have been. `in_span`: launched in it, not before.
    Call next(const Call& call, bool in_span);

  private:
    Call operation(const Call& call, bool in_span);
    Call sync(const Call& call);
    bool is_full(const Call& call);
    void note_empty(const Call& call);
    int64_t shift_behind_full(const Call& call, const Call& would);
    int64_t ready_to_return_ns(const Call& call, const Call& would) const;
    int64_t& shift_of(const Call& call) { return shift_ns_[take_turns_ ? 0 : call.thread_id]; }
    Moment awaited(const Call& call) const;
    Moment legacy_tail(const Call& call) const;
    // When a stream was through with all that it had been given, our event included.
    Moment tail(size_t lane) const {
        return {streams_[lane].end.was_ns + streams_[lane].own_ns, streams_[lane].end.would_ns};
    }

    Stream& stream(const Call& call) { return streams_[static_cast<size_t>(call.lane)]; }
    const Lane& lane(const Call& call) const { return lanes_[static_cast<size_t>(call.lane)]; }

    std::span<const Call> calls_;
    std::span<const Lane> lanes_;
    const OwnCost& cost_;
    Lean lean_;
    std::vector<Stream> streams_;
    std::unordered_map<int64_t, int64_t> shift_ns_;  // by thread: how much earlier it would have been
    bool take_turns_;  // the threads wait for each other: what one saves the next begins earlier
    std::unordered_map<int64_t, Moment> records_;    // by event
    std::unordered_map<int64_t, Moment> last_exit_;  // by thread, of its newest operation
};

// Where a span ends in the replay: as much earlier as the last operation that began in it.
class SpanEnd {
  public:
    explicit SpanEnd(Interval span) : span_(span) {}
    void take(const Call& was, const Call& would) {
        if (was.times.start_ns > span_.end_ns || was.times.start_ns < last_start_.was_ns) return;
        last_start_ = {was.times.start_ns, would.times.start_ns};
    }
    Interval span() const {
        const int64_t earlier_ns =
            last_start_.was_ns != kNever ? last_start_.was_ns - last_start_.would_ns : 0;
        return {span_.start_ns, std::max(span_.start_ns, span_.end_ns - earlier_ns)};
    }

  private:
    Interval span_;
    Moment last_start_;
};

// The same operation, at another time.
void move(DeviceTimes& times, int64_t start_ns, int64_t end_ns) {
    const int64_t start_by = start_ns - times.start_ns, end_by = end_ns - times.end_ns;
    times.start_ns += start_by;
    times.start_low_ns += start_by;
    times.start_high_ns += start_by;
    times.end_ns += end_by;
    times.end_low_ns += end_by;
    times.end_high_ns += end_by;
    times.events = 0;
}

Call Replay::operation(const Call& call, bool in_span) {
    int64_t& shift_ns = shift_of(call);
    Call would = call;
    would.enter_ns -= shift_ns;
    would.exit_ns -= shift_ns;
    if (!call.timed || call.lane == kNoLane) return would;
    const DeviceTimes& times = call.times;
    const int64_t before = times.events > 1 ? 1 : 0, behind = times.events > 0 ? 1 : 0;
    Stream& on = stream(call);
    if (in_span && behind != 0) shift_ns += cost_.asking_ns + before * cost_.record_ns;
    would.enter_ns = call.enter_ns - shift_ns;

    // From the call's enter, what the launch itself takes: a call that returns late waited for something
    // else.
    const int64_t returns_ns = call.completes ? call.enter_ns : call.exit_ns;
    const int64_t launched_ns =
        std::max(call.enter_ns, std::min(returns_ns + latency_ns(cost_, lean_), times.start_ns));
    Moment ready = {launched_ns, launched_ns - shift_ns};
    Moment free = on.joins;
    free.at_least(tail(static_cast<size_t>(call.lane)));
    free.at_least(legacy_tail(call));
    ready.at_least({free.was_ns + before * cost_.event_ns, free.would_ns});
    const int64_t unexplained_ns = std::max(int64_t{0}, times.start_ns - ready.was_ns);
    const int64_t start_ns = ready.would_ns + unexplained_ns;
    on.end = {times.end_ns, start_ns + duration_ns(times, lean_)};
    on.own_ns = behind * cost_.event_ns;
    on.joins = {};

    move(would.times, start_ns, on.end.would_ns);
    note_empty(call);
    if (is_full(call)) shift_ns = shift_behind_full(call, would);
    on.push(start_ns, times.events);
    if (call.completes) {
        const int64_t wakes_ns = std::max(int64_t{0}, call.exit_ns - times.end_ns);
        shift_ns = call.exit_ns - std::max(call.enter_ns - shift_ns, on.end.would_ns + wakes_ns);
    }
    would.exit_ns = std::max(would.enter_ns, call.exit_ns - shift_ns);
    last_exit_[call.thread_id] = {call.exit_ns, would.exit_ns};
    if (in_span) shift_ns += behind * cost_.record_ns;
    return would;
}

void Replay::note_empty(const Call& call) {
    Stream& on = stream(call);
    on.pass(call.enter_ns);
    if (!on.queue.empty() || call.times.start_ns > call.exit_ns + kAtOnceNs) return;
    on.was_empty = true;
    on.starts.clear();
}

// A stream that was full when the span began has a host that is as far ahead as it can be: it goes on as the
// stream does. Of one that ran empty since, more fits into its queue without our events.
int64_t Replay::shift_behind_full(const Call& call, const Call& would) {
    Stream& on = stream(call);
    if (on.was_empty) return call.exit_ns - std::max(ready_to_return_ns(call, would), on.room_ns());
    on.pass(call.exit_ns);
    return std::min(on.earlier_ns(), call.exit_ns - would.enter_ns);
}

// Behind a full queue, if there was room: what a thread takes from one launch to the next may be a wait for
// room, in the call or in our records before it.
int64_t Replay::ready_to_return_ns(const Call& call, const Call& would) const {
    const int64_t own_ns = std::min(call.exit_ns - call.enter_ns, kOwnCallNs);
    const auto last = last_exit_.find(call.thread_id);
    if (last == last_exit_.end() || call.enter_ns - last->second.was_ns >= kWorkNs)
        return would.enter_ns + own_ns;
    return std::min(would.enter_ns, last->second.would_ns + kOwnCallNs) + own_ns;
}

bool Replay::is_full(const Call& call) {
    Stream& on = stream(call);
    on.pass(call.enter_ns);
    return on.entries >= kFullEntries;
}

// The legacy stream waits for those that join it, and they for it.
Moment Replay::legacy_tail(const Call& call) const {
    const Lane& own = lane(call);
    Moment end;
    if (!own.legacy && !own.joins_legacy) return end;
    for (size_t i = 0; i < lanes_.size(); ++i)
        if (lanes_[i].context_id == own.context_id &&
            (own.legacy ? lanes_[i].joins_legacy : lanes_[i].legacy))
            end.at_least(tail(i));
    return end;
}

Moment Replay::awaited(const Call& call) const {
    Moment end;
    for (size_t i = 0; i < lanes_.size(); ++i) {
        if (call.lane != kNoLane ? static_cast<size_t>(call.lane) != i
                                 : lanes_[i].context_handle_id != call.target_id)
            continue;
        end.at_least(tail(i));
    }
    if (const auto found = records_.find(call.target_id); call.lane == kNoLane && found != records_.end())
        end.at_least(found->second);
    return end;
}

Call Replay::sync(const Call& call) {
    int64_t& shift_ns = shift_of(call);
    const Moment end = awaited(call);
    const bool waited = end.was_ns > call.enter_ns;
    const int64_t takes_ns = waited ? 0 : call.exit_ns - call.enter_ns;
    const int64_t wakes_ns = waited ? std::max(int64_t{0}, call.exit_ns - end.was_ns) : 0;
    const int64_t exit_ns = std::max(call.enter_ns - shift_ns + takes_ns, end.would_ns + wakes_ns);
    Call would = call;
    would.enter_ns -= shift_ns;
    would.exit_ns = exit_ns;
    shift_ns = call.exit_ns - exit_ns;
    return would;
}

Call Replay::next(const Call& call, bool in_span) {
    if (call.kind == CallKind::sync) return sync(call);
    if (call.kind == CallKind::operation) return operation(call, in_span);
    if (call.lane != kNoLane && call.kind == CallKind::record) {
        records_[call.target_id] = tail(static_cast<size_t>(call.lane));
    } else if (call.lane != kNoLane && call.kind == CallKind::wait) {
        if (const auto found = records_.find(call.target_id); found != records_.end())
            stream(call).joins.at_least(found->second);
    }
    Call would = call;
    would.enter_ns -= shift_of(call);
    would.exit_ns -= shift_of(call);
    return would;
}

// What is known of a thread while its calls are moved, in order.
class MovedThread {
  public:
    // Nobody overtakes himself.
    void take(Call& would) {
        last_enter_ns_ = would.enter_ns = std::max(would.enter_ns, last_enter_ns_);
        would.exit_ns = std::max(would.exit_ns, would.enter_ns);
    }
    // A thread that was in no call while others saved time is in none for less.
    void end_gap(std::vector<Call>& calls, size_t at, const Call& would) {
        if (would.kind == CallKind::inside) return;  // a moment in the gap
        if (gap_ != kNone) calls[gap_].exit_ns = std::min(calls[gap_].exit_ns, would.enter_ns);
        gap_ = would.kind == CallKind::host_gap ? at : kNone;
    }

  private:
    static constexpr size_t kNone = SIZE_MAX;
    int64_t last_enter_ns_ = INT64_MIN;
    size_t gap_ = kNone;  // the last one, of which the end is not certain
};

bool runs_on(const Call& call, std::span<const Lane> lanes, int64_t device_id) {
    return call.kind == CallKind::operation && call.timed && call.lane != kNoLane &&
           lanes[static_cast<size_t>(call.lane)].device_id == device_id;
}

}  // namespace

Replayed replay(std::span<const Call> calls, size_t before, std::span<const Lane> lanes, const OwnCost& cost,
                Interval span, int64_t device_id, Lean lean) {
    Replay replay(calls, lanes, cost, lean);
    SpanEnd end(span);
    std::vector<Interval> ran;
    for (size_t i = 0; i < calls.size(); ++i) {
        const Call would = replay.next(calls[i], i >= before);
        if (!runs_on(calls[i], lanes, device_id)) continue;
        ran.push_back({would.times.start_ns, would.times.end_ns});
        end.take(calls[i], would);
    }
    Replayed result;
    result.span = end.span();
    result.busy = clip(unite(std::move(ran)), result.span);
    return result;
}

Undisturbed undisturb(std::vector<Call> calls, size_t before, size_t behind, std::span<const Lane> lanes,
                      const OwnCost& cost, std::span<const DeviceSpan> spans) {
    Replay replay(calls, lanes, cost, Lean::estimate);
    std::vector<SpanEnd> ends;
    for (const DeviceSpan& one : spans) ends.emplace_back(one.span);
    const size_t inside_end = calls.size() - behind;
    Undisturbed result = {{}, before, behind, {}, {}};
    std::unordered_map<int64_t, MovedThread> threads;
    for (size_t i = 0; i < calls.size(); ++i) {
        Call would = replay.next(calls[i], i >= before);
        for (size_t device = 0; device < spans.size(); ++device)
            if (runs_on(calls[i], lanes, spans[device].device_id)) ends[device].take(calls[i], would);
        MovedThread& thread = threads[would.thread_id];
        thread.take(would);
        thread.end_gap(calls, i, would);
        if (i >= before && i < inside_end) result.shifts.push_back({calls[i].enter_ns, would.enter_ns});
        calls[i] = would;
    }
    std::stable_sort(calls.begin() + static_cast<std::ptrdiff_t>(before),
                     calls.begin() + static_cast<std::ptrdiff_t>(inside_end),
                     [](const Call& a, const Call& b) { return a.enter_ns < b.enter_ns; });
    result.calls = std::move(calls);
    for (const SpanEnd& end : ends) result.spans.push_back(end.span());
    return result;
}

int64_t Undisturbed::moved(int64_t host_ns) const {
    const auto after =
        std::upper_bound(shifts.begin(), shifts.end(), host_ns,
                         [](int64_t at_ns, const Shift& shift) { return at_ns < shift.was_ns; });
    if (after == shifts.begin()) return host_ns;
    return std::prev(after)->would_ns + (host_ns - std::prev(after)->was_ns);
}

int64_t Undisturbed::was(int64_t would_ns) const {
    const auto after =
        std::upper_bound(shifts.begin(), shifts.end(), would_ns,
                         [](int64_t at_ns, const Shift& shift) { return at_ns < shift.would_ns; });
    if (after == shifts.begin()) return would_ns;
    const int64_t was_ns = std::prev(after)->was_ns + (would_ns - std::prev(after)->would_ns);
    return after == shifts.end() ? was_ns : std::min(was_ns, after->was_ns);
}

}  // namespace gpushim::analysis
