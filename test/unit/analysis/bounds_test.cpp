// When a device may have been busy, from what the host saw: timelines by hand, and truths drawn by lot.
#include "analysis/busy/bounds.h"

#include "calls.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <optional>
#include <random>

namespace bounds_test {

using namespace made;

namespace {

Intervals may_be_busy(const std::vector<Call>& calls, const std::vector<Lane>& all, int64_t until_ns = 1000) {
    GrowingUnion sum;
    Bounds bounds(all, [&](const Bounds::MayBeBusy& said) {
        if (said.device_id == 0) sum.add(said.span);
    });
    for (const Call& call : calls) bounds.take(call);
    return clip(unite(sum.take(), bounds.open(0, until_ns)), {0, until_ns});
}

}  // namespace

//  0         10        20   25   30
//  [L]       [L]       [sync──────]
//  ├──────────────────────────────┤
TEST_CASE("an operation is over when a wait for its stream is", "[bounds]") {
    CHECK(may_be_busy({launch(0, 0, 3), launch(0, 10, 13), sync_stream(0, 20, 30)}, lanes(1)) ==
          Intervals{{0, 30}});
    // Not by a wait for another stream, and not by one that began before the launch returned.
    CHECK(may_be_busy({launch(0, 0, 3), sync_stream(1, 20, 30)}, lanes(2)) == Intervals{{0, 1000}});
    CHECK(may_be_busy({launch(0, 0, 25), sync_stream(0, 20, 30, 2)}, lanes(1)) == Intervals{{0, 1000}});
    CHECK(may_be_busy({launch(0, 0, 3), launch(1, 5, 8), sync_on(kContextHandle, 20, 30)}, lanes(2)) ==
          Intervals{{0, 30}});
}

//  0         10        20        30        40
//  [L]       (record)  [L]       [wait for the event]
//  ├───────────────────┼──────────────────────────┤
//                      ├─── …
TEST_CASE("an event tells of what was before it, not of what came behind", "[bounds]") {
    const std::vector<Call> calls = {launch(0, 0, 3), other(CallKind::record, 0, 7, 10, 11),
                                     launch(0, 20, 23), sync_on(7, 30, 50)};
    CHECK(may_be_busy({calls[0], calls[1], calls[3]}, lanes(1)) == Intervals{{0, 50}});
    CHECK(may_be_busy(calls, lanes(1)) == Intervals{{0, 1000}});
    // While it is recorded anew by another thread, either record may be meant.
    CHECK(may_be_busy({launch(0, 0, 3), launch(0, 20, 23), other(CallKind::record, 0, 7, 29, 31, 2),
                       sync_on(7, 30, 50)},
                      lanes(1)) == Intervals{{0, 1000}});
}

TEST_CASE("a copy that returns when it is done tells of what was before it", "[bounds]") {
    Call copy = launch(0, 20, 30);
    copy.completes = true;
    CHECK(may_be_busy({launch(0, 0, 3), copy}, lanes(1)) == Intervals{{0, 30}});
    CHECK(may_be_busy({copy}, lanes(1)) == Intervals{{20, 30}});
}

//  0           40  45        60  70
//  [L]         ███ operation with device times in the same stream
//  ├───────────┤
TEST_CASE("device times bound what has none", "[bounds]") {
    const Call timed = ran_about(launch(0, 10, 13), 40, 2, 60, 3);
    CHECK(may_be_busy({launch(0, 0, 3), timed}, lanes(1)) == Intervals{{0, 63}});
    CHECK(may_be_busy({launch(0, 0, 3), timed, launch(0, 15, 18), sync_stream(0, 20, 80)}, lanes(1)) ==
          Intervals{{0, 80}});
    // Behind it a stream cannot begin before its earliest end, but one that it knows nothing of can.
    const Call late = ran_about(launch(0, 10, 13), 40, 0, 60, 0);
    CHECK(may_be_busy({late, launch(0, 15, 18), sync_stream(0, 20, 80)}, lanes(1)) == Intervals{{40, 80}});
    CHECK(may_be_busy({late, launch(1, 15, 18), sync_stream(1, 20, 80)}, lanes(2)) == Intervals{{15, 80}});
    CHECK(may_be_busy({late, launch(0, 12, 18, 2), sync_stream(0, 20, 80)}, lanes(1)) == Intervals{{12, 80}});
}

//  0     10                    1.05 ms
//  [L]   [L]                   ███ its clock is not sure, but it began long after its call
//  ├───────────────────────────┤    until then what was before it ran, probably
TEST_CASE("what began long after its call waited for what was before it", "[bounds]") {
    const std::vector<Lane> all = lanes(1);
    const auto said_of_first = [&](const Call& timed) {
        std::optional<Bounds::Say> say;
        Bounds bounds(all, [&](const Bounds::MayBeBusy& said) {
            if (said.entered_ns == 0) say = said.say;
        });
        bounds.take(launch(0, 0, 3));
        bounds.take(timed);
        return say;
    };
    Call timed = ran_about(launch(0, 10, 13), 1'050'000, 400, 1'060'000, 400);
    timed.times.queued = false;
    CHECK(said_of_first(timed) == Bounds::Say::until_the_end);
    timed.completes = true;
    CHECK(said_of_first(timed) == Bounds::Say::some_time);
    Call sooner = ran_about(launch(0, 10, 13), 900'000, 400, 910'000, 400);
    sooner.times.queued = false;
    CHECK(said_of_first(sooner) == Bounds::Say::some_time);
}

//  stream 0   [L] (record)
//  stream 1            (wait) [L]       ██ with device times, or waited for
TEST_CASE("a stream that waited for another tells of it", "[bounds]") {
    std::vector<Call> calls = {launch(0, 0, 3), other(CallKind::record, 0, 7, 5, 6),
                               other(CallKind::wait, 1, 7, 8, 9), launch(1, 10, 13)};
    calls.push_back(sync_stream(1, 20, 30));
    CHECK(may_be_busy(calls, lanes(2)) == Intervals{{0, 30}});
    calls[3] = ran_about(launch(1, 10, 13), 20, 2, 40, 0);
    calls.pop_back();
    CHECK(may_be_busy({calls[0], calls[1], calls[2], calls[3]}, lanes(2)) == Intervals{{0, 40}});
    CHECK(may_be_busy({calls[0], calls[3]}, lanes(2)) == Intervals{{0, 1000}});
    // On another device: it was over when that one began, at the latest.
    std::vector<Lane> two = lanes(2);
    two[1].device_id = 1;
    CHECK(may_be_busy(calls, two) == Intervals{{0, 22}});
}

TEST_CASE("the legacy stream and those that join it tell of each other", "[bounds]") {
    std::vector<Lane> all = lanes(3);
    all[0].legacy = true;
    all[1].joins_legacy = true;  // and stream 2 stands apart
    CHECK(may_be_busy({launch(1, 0, 3), launch(0, 5, 8), sync_stream(0, 20, 30)}, all) == Intervals{{0, 30}});
    CHECK(may_be_busy({launch(0, 0, 3), launch(1, 5, 8), sync_stream(1, 20, 30)}, all) == Intervals{{0, 30}});
    CHECK(may_be_busy({launch(2, 0, 3), launch(0, 5, 8), sync_stream(0, 20, 30)}, all) ==
          Intervals{{0, 1000}});
    CHECK(may_be_busy({launch(0, 0, 3), launch(2, 5, 8), sync_stream(2, 20, 30)}, all) ==
          Intervals{{0, 1000}});
    // What came behind is not known to be over.
    CHECK(may_be_busy({launch(0, 0, 3), launch(1, 5, 8), sync_stream(0, 20, 30)}, all) ==
          Intervals{{0, 1000}});
}

//  0         100        200      300  310
//  [L]       ┊ - - ? - - ┊       [sync─]
//  ├──────────────────────────────────┤
TEST_CASE("where rows are gone a stream may be busy until something behind tells", "[bounds]") {
    CHECK(may_be_busy({gone(0, 100, 200), sync_stream(0, 300, 310)}, lanes(1)) == Intervals{{100, 310}});
    CHECK(may_be_busy({gone(0, 100, 200), sync_stream(0, 200, 210)}, lanes(1)) == Intervals{{100, 210}});
    CHECK(may_be_busy({gone(0, 100, 200), sync_stream(0, 199, 310)}, lanes(1)) == Intervals{{100, 1000}});
    CHECK(may_be_busy({gone(0, 100, 200), sync_stream(1, 300, 310)}, lanes(2)) == Intervals{{100, 1000}});
    const Call timed = ran_about(launch(0, 300, 303), 340, 2, 360, 3);
    CHECK(may_be_busy({gone(0, 100, 200), timed}, lanes(1)) == Intervals{{100, 363}});
    CHECK(may_be_busy({gone(0, 100, 200), timed, launch(0, 500, 503), sync_stream(0, 600, 610)}, lanes(1)) ==
          Intervals{{100, 363}, {500, 610}});
    const Call amid = ran_about(launch(0, 150, 153), 340, 2, 360, 3);  // a row that came late
    CHECK(may_be_busy({gone(0, 100, 200), amid}, lanes(1)) == Intervals{{100, 1000}});
    // What is in front of it in its stream ends first.
    CHECK(may_be_busy({ran(launch(0, 10, 13), 140, 160), gone(0, 100, 200), sync_stream(0, 300, 310)},
                      lanes(1)) == Intervals{{140, 310}});
}

TEST_CASE("an event that was recorded before the end of what is gone tells nothing behind it", "[bounds]") {
    const Call record = other(CallKind::record, 0, 7, 5, 6);
    const std::vector<Call> calls = {launch(0, 0, 3), record, gone(kNoLane, 100, 200), sync_on(7, 300, 310)};
    CHECK(may_be_busy(calls, lanes(1)) == Intervals{{0, 1000}});
    CHECK(may_be_busy({calls[0], record, calls[3]}, lanes(1)) == Intervals{{0, 310}});
    const Call amid = other(CallKind::record, 0, 7, 150, 151),
               behind = other(CallKind::record, 0, 7, 205, 206);
    CHECK(may_be_busy({calls[0], calls[2], amid, calls[3]}, lanes(1)) == Intervals{{0, 1000}});
    CHECK(may_be_busy({calls[0], record, calls[2], behind, calls[3]}, lanes(1)) == Intervals{{0, 310}});
}

//  legacy     [L]                                      may run for ever
//  stream 1         ┊ - ? - ┊   [sync]                 was given nothing, if it so was
TEST_CASE("a stream that may have been given nothing tells nothing of others", "[bounds]") {
    std::vector<Lane> all = lanes(2);
    all[0].legacy = true;
    all[1].joins_legacy = true;
    CHECK(may_be_busy({launch(0, 0, 3), gone(1, 100, 200), sync_stream(1, 300, 310)}, all) ==
          Intervals{{0, 1000}});
    // The other way round: the legacy stream waits for all that was asked for before.
    CHECK(may_be_busy({gone(1, 100, 200), launch(0, 250, 253), sync_stream(0, 300, 310)}, all) ==
          Intervals{{100, 310}});
}

namespace {

// A program of several threads and streams, and when everything ran.
struct Drawn {
    std::vector<Call> calls;
    std::vector<Interval> ran;
};

Drawn draw(unsigned seed, bool with_device_times) {
    std::mt19937_64 random(seed);
    const auto up_to = [&](int64_t most) {
        return static_cast<int64_t>(random() % static_cast<uint64_t>(most));
    };
    Drawn drawn;
    int64_t now_ns = 0, ends_ns[3] = {0, 0, 0}, event_ends_ns[3] = {0, 0, 0};
    bool recorded[3] = {false, false, false};
    for (int i = 0; i < 60; ++i) {
        now_ns += up_to(30);
        const auto lane = static_cast<int32_t>(up_to(3));
        const int64_t event = up_to(3), enter_ns = now_ns;
        switch (up_to(6)) {
            case 0: {
                now_ns = std::max(now_ns, ends_ns[lane]) + 1 + up_to(9);
                drawn.calls.push_back(sync_stream(lane, enter_ns, now_ns));
                break;
            }
            case 1: {
                if (!recorded[event]) break;
                now_ns = std::max(now_ns, event_ends_ns[event]) + 1 + up_to(9);
                drawn.calls.push_back(sync_on(event, enter_ns, now_ns));
                break;
            }
            case 2: {
                drawn.calls.push_back(other(CallKind::record, lane, event, enter_ns, ++now_ns));
                event_ends_ns[event] = ends_ns[lane];
                recorded[event] = true;
                break;
            }
            case 3: {
                drawn.calls.push_back(other(CallKind::wait, lane, event, enter_ns, ++now_ns));
                ends_ns[lane] = std::max(ends_ns[lane], event_ends_ns[event]);
                break;
            }
            default: {
                const int64_t start_ns = std::max(enter_ns + up_to(12), ends_ns[lane]);
                ends_ns[lane] = start_ns + 1 + up_to(40);
                now_ns += 1 + up_to(6);
                Call call = launch(lane, enter_ns, now_ns);
                if (with_device_times && up_to(2) == 0)
                    call = ran_about(call, start_ns, up_to(5), ends_ns[lane], up_to(5));
                drawn.calls.push_back(call);
                drawn.ran.push_back({start_ns, ends_ns[lane]});
            }
        }
    }
    return drawn;
}

}  // namespace

TEST_CASE("whatever ran, ran when it may have", "[bounds]") {
    for (unsigned seed = 0; seed < 2000; ++seed) {
        const Drawn drawn = draw(seed, seed % 2 == 1);
        const Intervals may = may_be_busy(drawn.calls, lanes(3), 100'000);
        const Intervals outside = subtract(unite(drawn.ran), may);
        INFO("seed " << seed);
        REQUIRE(outside.empty());
    }
}

namespace {

// Without the rows of [from, until).
std::vector<Call> without(const std::vector<Call>& calls, int64_t from_ns, int64_t until_ns) {
    std::vector<Call> left;
    bool asked[3] = {false, false, false};
    const auto add_gone = [&] {
        left.push_back(gone(kNoLane, from_ns, until_ns));
        for (int32_t lane = 0; lane < 3; ++lane)
            if (asked[lane]) left.push_back(gone(lane, from_ns, until_ns));
        from_ns = INT64_MAX;
    };
    for (const Call& call : calls)
        if (call.kind == CallKind::operation && call.enter_ns >= from_ns && call.enter_ns < until_ns)
            asked[call.lane] = true;
    const int64_t start_ns = from_ns;
    for (const Call& call : calls) {
        if (call.enter_ns >= from_ns) add_gone();
        if (call.enter_ns < start_ns || call.enter_ns >= until_ns) left.push_back(call);
    }
    return left;
}

}  // namespace

TEST_CASE("whatever ran, ran when it may have, where rows are gone", "[bounds]") {
    for (unsigned seed = 0; seed < 2000; ++seed) {
        const Drawn drawn = draw(seed, seed % 2 == 1);
        const int64_t from_ns = 50 + seed % 500, until_ns = from_ns + 20 + seed % 300;
        const Intervals may = may_be_busy(without(drawn.calls, from_ns, until_ns), lanes(3), 100'000);
        const Intervals outside = subtract(unite(drawn.ran), may);
        INFO("seed " << seed);
        REQUIRE(outside.empty());
    }
}

}  // namespace bounds_test
