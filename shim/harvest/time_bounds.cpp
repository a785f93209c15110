#include "time_bounds.h"

#include <algorithm>

namespace gpushim::shim {
namespace {

// Between what was before it and a queued operation's start: what a device may take to go on.
constexpr int64_t kGoOnNs = 500;

// A clock that is less sure than this says nothing exactly.
constexpr int64_t kStampNs = 5'000;

struct End {
    bool waited;  // the event for the operation
    int64_t low_ns, ns, high_ns;
    int64_t likely_ns;
};

// How far the gap before a kernel may be from what it is taken for.
int64_t gap_off_ns(const EventFacts& event) {
    return std::max(event.before_ns, event.before_high_ns - event.before_ns);
}

// When its stream had nothing else to do: null if nothing says so.
const Moments* ready(const Stamps& stamps) {
    if (stamps.has_start) return &stamps.start;
    return stamps.has_before && !stamps.fenced ? &stamps.before : nullptr;
}

int64_t earliest(const Stamps& stamps) {
    int64_t ns = stamps.enter_ns;
    if (stamps.has_start) ns = std::max(ns, stamps.start.low_ns);
    if (stamps.has_before) ns = std::max(ns, stamps.before.low_ns);
    return ns;
}

End end_of(const Stamps& stamps, const EventFacts& event) {
    const Moments& stamp = stamps.end;
    const int64_t low = earliest(stamps);
    const bool waited = stamp.ns - stamps.recorded_ns > event.idle_ns;
    // Bounds say so only where it did wherever the stamp lies: the thread may have recorded it long after.
    const bool has_surely = stamp.low_ns - stamps.recorded_ns > event.idle_ns;
    const int64_t ns = stamp.ns - event.ns;
    const int64_t off = std::max(event.high_ns - event.ns, event.ns - event.low_ns);
    const int64_t high = std::max(low, stamp.high_ns - (has_surely ? event.low_ns : 0));
    return {waited, has_surely ? std::clamp(stamp.low_ns - event.high_ns, low, high) : low,
            std::clamp(ns, low, high), high, stamp.likely_ns + off};
}

bool was_queued(const Stamps& stamps, const Spread& delay) {
    const Moments* since = ready(stamps);
    if (since == nullptr) return false;
    const int64_t after_ns = delay.is_known || delay.high_ns != 0 ? delay.high_ns : kSurelyQueuedNs;
    return since->likely_ns <= kStampNs && since->ns - since->likely_ns >= stamps.exit_ns + after_ns;
}

struct Guess {
    int64_t ns;
    int64_t likely_ns;
};

constexpr Guess kNoGuess = {0, INT64_MAX};

// On an empty queue it starts so long after the call, unless its stream was still busy.
Guess start_by_delay(const Stamps& stamps, const EventFacts& event, const Usual& usual) {
    const Spread& delay = stamps.blocking ? usual.from_enter : usual.delay;
    if (!delay.is_known) return kNoGuess;
    const int64_t since_ns = stamps.blocking ? stamps.enter_ns : stamps.exit_ns;
    const Moments* busy = ready(stamps);
    Guess guess = {since_ns + delay.ns, half_of(delay)};
    if (busy == nullptr || busy->ns + event.before_ns <= since_ns + delay.low_ns) return guess;
    guess.likely_ns += busy->likely_ns;
    guess.ns = std::max(guess.ns, busy->ns + event.before_ns);
    return guess;
}

// A clock that is not sure can make one that nothing takes.
bool is_known(const Spread& duration) { return duration.is_known && duration.ns >= 0; }

Guess start_by_duration(const End& end, const Spread& duration) {
    if (!is_known(duration) || !end.waited) return kNoGuess;
    return {end.ns - duration.ns, end.likely_ns + half_of(duration)};
}

// Shorter than it took to record the end event: only what others have taken says when it ended.
void guess_end(OperationTimes& times, const End& end, const Guess& start, const Stamps& stamps,
               const Spread& duration) {
    const int64_t last_ns = stamps.blocking ? std::min(end.ns, stamps.exit_ns) : end.ns;
    const int64_t rest_ns = std::max<int64_t>(0, last_ns - times.start_ns);
    if (is_known(duration) && duration.ns <= rest_ns && !stamps.blocking) {
        times.end_ns = times.start_ns + duration.ns;
        times.likely_ns = start.likely_ns + half_of(duration);
        return;
    }
    times.end_ns = stamps.blocking ? std::max(last_ns, times.start_ns) : times.start_ns + rest_ns / 2;
    times.likely_ns = std::max(times.likely_ns, rest_ns / 2 + end.likely_ns);
}

// Where nothing is learnt it starts after about as long as an event of ours does; but that is a guess, and it
// may have been at any time until its end.
Guess start_by_event(const Stamps& stamps, const EventFacts& event, const End& end) {
    const int64_t low_ns = earliest(stamps), last_ns = std::max(low_ns, end.ns);
    const int64_t since_ns = stamps.blocking ? stamps.enter_ns : stamps.exit_ns;
    const int64_t ns = std::clamp(since_ns + event.idle_ns, low_ns, low_ns + (last_ns - low_ns) / 2);
    return {ns, last_ns - ns + end.likely_ns};
}

void estimate(OperationTimes& times, const Stamps& stamps, const EventFacts& event, const End& end,
              const Usual& usual) {
    times.start_high_ns = times.end_high_ns;
    const Guess by_delay = start_by_delay(stamps, event, usual);
    const Guess by_duration = start_by_duration(end, usual.duration);
    Guess start = by_delay.likely_ns <= by_duration.likely_ns ? by_delay : by_duration;
    if (start.likely_ns == kNoGuess.likely_ns) start = start_by_event(stamps, event, end);
    times.start_ns = std::clamp(start.ns, times.start_low_ns, std::max(times.start_low_ns, end.ns));
    times.end_ns = end.ns;
    times.likely_ns = std::max(start.likely_ns, end.likely_ns);
    if (!end.waited) guess_end(times, end, start, stamps, usual.duration);
    times.likely_ns += gap_off_ns(event);
}

}  // namespace

OperationTimes times_of(const Stamps& stamps, const EventFacts& event, const Usual& usual) {
    const End end = end_of(stamps, event);
    OperationTimes times = {};
    times.start_low_ns = earliest(stamps);
    times.end_low_ns = end.low_ns;
    times.end_high_ns = end.high_ns;
    times.queued = end.waited && was_queued(stamps, usual.delay);
    if (!times.queued) {
        estimate(times, stamps, event, end, usual);
        return times;
    }
    const Moments& since = *ready(stamps);
    const int64_t start_ns = since.ns + event.before_ns;
    times.start_ns = std::clamp(start_ns, times.start_low_ns, std::max(times.start_low_ns, end.ns));
    const int64_t go_on_ns = std::max(kGoOnNs, event.before_high_ns);
    times.start_high_ns = std::min(std::max(times.start_ns, since.high_ns + go_on_ns), end.high_ns);
    times.end_ns = end.ns;
    times.likely_ns = std::max(since.likely_ns + gap_off_ns(event), end.likely_ns);
    return times;
}

Observed observe(const Stamps& stamps, const EventFacts& event) {
    const Moments* since = ready(stamps);
    const End end = end_of(stamps, event);
    Observed seen = {};
    seen.is_whole = since != nullptr && end.waited && !stamps.blocking;
    if (!seen.is_whole) return seen;
    seen.slack_ns = since->ns - stamps.exit_ns;
    seen.span_ns = end.ns - since->ns;
    seen.in_call_ns = stamps.exit_ns - stamps.enter_ns;
    seen.gap_ns = event.before_ns;
    return seen;
}

}  // namespace gpushim::shim
