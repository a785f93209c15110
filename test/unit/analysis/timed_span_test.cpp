// What ran in a span by three readings of its times, against unions of the calls as they are.
#include "analysis/busy/timed_span.h"

#include "calls.h"

#include <catch2/catch.hpp>
#include <random>

namespace timed_span_test {

using namespace made;

namespace {

constexpr Interval kHost = {0, 10'000};

SpanBusy busy_of(const std::vector<Call>& calls, const std::vector<Lane>& all) {
    std::vector<Window> windows(1);
    windows[0].dur_ns = kHost.end_ns;
    TimedSpan* open = nullptr;
    Bounds bounds(all, [&](const MayBeBusy& said) {
        if (said.say != Bounds::Say::timed) open->may_be_busy(said);
    });
    TimedSpan span(kHost, false, windows, all, bounds, {}, {});
    open = &span;
    span.look_ahead(100);
    for (const Call& call : calls) {
        bounds.take(call);
        span.take(call);
    }
    return span.finish({}).at(0);
}

int64_t union_ns(const std::vector<Call>& calls, int64_t DeviceTimes::*start, int64_t DeviceTimes::*end,
                 Interval within) {
    std::vector<Interval> spans;
    for (const Call& call : calls) spans.push_back({call.times.*start, call.times.*end});
    return length_ns(clip(unite(spans), within));
}

// One after the other in each of two streams; from the `exact`th on, times have errors.
std::vector<Call> drawn(uint64_t seed, size_t exact) {
    std::mt19937_64 random(seed);
    const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
    std::vector<Call> calls;
    int64_t ends[] = {0, 0};
    for (int64_t t = 1; t < 12'000; t += 5 + below(60)) {
        const int32_t lane = static_cast<int32_t>(below(2));
        int64_t& end = ends[static_cast<size_t>(lane)];
        const int64_t start = std::max(t + 10, end), took = 10 + below(50);
        calls.push_back(ran(launch(lane, t, t + 3), start, start + took));
        DeviceTimes& times = calls.back().times;
        const auto error = [&] { return calls.size() <= exact || below(2) == 0 ? 0 : below(9); };
        times.start_low_ns -= error();
        times.start_high_ns += error();
        times.end_low_ns -= error();
        times.end_high_ns += error();
        end = start + took;
    }
    return calls;
}

}  // namespace

TEST_CASE("a span's busy time is the union of its calls, by each reading", "[busy][random]") {
    const size_t exact = GENERATE(as<size_t>(), 0, 1, 30, 1000);
    const auto seed = GENERATE(range<uint64_t>(1, 40));
    const std::vector<Call> calls = drawn(seed, exact);
    const SpanBusy busy = busy_of(calls, lanes(2));
    CAPTURE(exact, seed, busy.span.end_ns);
    CHECK(busy.busy_ns == union_ns(calls, &DeviceTimes::start_ns, &DeviceTimes::end_ns, busy.span));
    CHECK(busy.low_ns == union_ns(calls, &DeviceTimes::start_high_ns, &DeviceTimes::end_low_ns, busy.span));
    CHECK(busy.high_ns == union_ns(calls, &DeviceTimes::start_low_ns, &DeviceTimes::end_high_ns, busy.span));
    CHECK((busy.low_ns == busy.high_ns) == (exact == 1000));
}

//  host       |────────────────────────────| 10000
//  calls      [L]                            [L] 10005
//  stream 0   ██                          ▒▒▒██         by clocks that disagree it may have begun before
TEST_CASE("what was launched behind a span may have run in it", "[busy]") {
    const std::vector<Call> calls = {ran(launch(0, 0, 3), 10, 20),
                                     ran_about(launch(0, 10'005, 10'006), 10'010, 40, 10'060, 0)};
    const SpanBusy busy = busy_of(calls, lanes(1));
    CHECK(busy.span.end_ns == kHost.end_ns);
    CHECK(busy.busy_ns == 10);
    CHECK(busy.high_ns == 10 + 30);
}

}  // namespace timed_span_test
