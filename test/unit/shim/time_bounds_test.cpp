#include "shim/harvest/time_bounds.h"

#include <catch2/catch.hpp>

namespace time_bounds_test {

using namespace gpushim::shim;

namespace {

// Times in ns; a clock that is 100 wide either side.
Moments at(int64_t ns) { return {ns - 100, ns, ns + 100, 100}; }

constexpr EventFacts kEvent = {2'500, 2'500, 2'500, 0, 0, 3'500};
constexpr Spread kDelay = {true, 3'900, 4'000, 4'100};
constexpr Spread kFromEnter = {true, 7'900, 8'000, 8'100};
constexpr Spread kUnknown = {};

Stamps stamps(int64_t enter_ns, int64_t exit_ns, int64_t end_ns) {
    Stamps made = {};
    made.enter_ns = enter_ns;
    made.exit_ns = exit_ns;
    made.recorded_ns = exit_ns;
    made.end = at(end_ns);
    return made;
}

Stamps with_start(Stamps made, int64_t start_ns) {
    made.has_start = true;
    made.start = at(start_ns);
    return made;
}

Stamps with_before(Stamps made, int64_t before_ns) {
    made.has_before = true;
    made.before = at(before_ns);
    return made;
}

}  // namespace

TEST_CASE("what a device takes between stamps and kernels is no part of either", "[operation_times]") {
    EventFacts event = kEvent;
    event.before_ns = 700;
    event.before_high_ns = 1'500;
    event.ns += 700;  // behind the kernel
    event.high_ns += 1'500;
    const Stamps seen = with_start(stamps(10'000, 14'000, 965'000), 442'500);
    const OperationTimes plain = times_of(seen, kEvent, {kDelay, kFromEnter, kUnknown});
    const OperationTimes times = times_of(seen, event, {kDelay, kFromEnter, kUnknown});
    CHECK(times.queued);
    CHECK(times.start_ns == plain.start_ns + 700);
    CHECK(times.end_ns == plain.end_ns - 700);
    CHECK(times.start_low_ns == plain.start_low_ns);
    CHECK(times.start_high_ns >= plain.start_ns + 1'500);
    CHECK(times.end_low_ns == plain.end_low_ns - 1'500);
    CHECK(times.end_high_ns == plain.end_high_ns);
    CHECK(times.likely_ns >= plain.likely_ns + 700);
    CHECK(observe(seen, event).span_ns == observe(seen, kEvent).span_ns - 700);
    CHECK(observe(seen, event).gap_ns == 700);
}

TEST_CASE("queued: the times are the stamps", "[operation_times]") {
    //  host    |10 launch 14|··δ··18
    //  stream  ──────before───────────40|start|42.5 ████████ 62.5|end|65
    const OperationTimes times =
        times_of(with_start(stamps(10'000, 14'000, 65'000), 42'500), kEvent, {kDelay, kFromEnter, kUnknown});
    CHECK(times.queued);
    CHECK(times.start_ns == 42'500);
    CHECK(times.end_ns == 62'500);
    CHECK(times.start_low_ns == 42'400);
    CHECK(times.start_high_ns == 43'100);
    CHECK(times.end_low_ns == 62'400);
    CHECK(times.end_high_ns == 62'600);
    CHECK(times.likely_ns == 100);
}

TEST_CASE("the end before is a start for what waited behind it", "[operation_times]") {
    //  host    |10 14|
    //  stream  ████████|end|40 ███████ 60|end|62.5
    Stamps behind = with_before(stamps(10'000, 14'000, 62'500), 40'000);
    CHECK(times_of(behind, kEvent, {kDelay, kFromEnter, kUnknown}).queued);
    CHECK(times_of(behind, kEvent, {kDelay, kFromEnter, kUnknown}).start_ns == 40'000);
    // … unless the stream was told to wait for something else in between: then it is only a bound
    behind.fenced = true;
    const OperationTimes fenced = times_of(behind, kEvent, {kDelay, kFromEnter, kUnknown});
    CHECK_FALSE(fenced.queued);
    CHECK(fenced.start_low_ns == 39'900);
    CHECK(fenced.start_high_ns == fenced.end_high_ns);
}

TEST_CASE("on an empty queue the start is the call's return and what that takes", "[operation_times]") {
    //  host    |start|10 launch 14|··δ··18
    //  stream     |·····|12.5           18 ██ 20|end|22.5
    const Stamps alone = with_start(stamps(10'000, 14'000, 22'500), 12'500);
    const OperationTimes times = times_of(alone, kEvent, {kDelay, kFromEnter, kUnknown});
    CHECK_FALSE(times.queued);
    CHECK(times.start_ns == 18'000);
    CHECK(times.end_ns == 20'000);
    CHECK(times.start_low_ns == 12'400);
    CHECK(times.end_low_ns == 19'900);
    CHECK(times.end_high_ns == 20'100);
    CHECK(times.likely_ns == 100);
    // Nothing known about δ: the middle, and as unsure as the interval is wide.
    const OperationTimes blind = times_of(alone, kEvent, {});
    CHECK(blind.start_ns == 16'200);
    CHECK(blind.start_low_ns + blind.likely_ns >= 18'000 - 2 * 1'800);
    CHECK(blind.start_ns + blind.likely_ns >= 18'000);
}

TEST_CASE("what those alike took says the start where δ does not", "[operation_times]") {
    const Stamps alone = with_start(stamps(10'000, 14'000, 122'500), 12'500);  // e: 120'000
    const Spread steady = {true, 101'900, 102'000, 102'100};
    CHECK(times_of(alone, kEvent, {kUnknown, kUnknown, steady}).start_ns == 18'000);
    // The steadier of both is taken.
    const Spread wild = {true, 1'000, 5'000, 9'000};
    CHECK(times_of(alone, kEvent, {wild, wild, steady}).start_ns == 18'000);
    CHECK(times_of(alone, kEvent, {kDelay, kFromEnter, {true, 1'000, 90'000, 200'000}}).start_ns == 18'000);
}

TEST_CASE("where nothing is learnt it starts as an event would, and that is a guess", "[operation_times]") {
    //  host    |10 launch 14|·3.5·17.5
    //  stream                    ~~~~~~~~~~~~~ 62.5|end|65
    const Usual nothing = {kUnknown, kUnknown, kUnknown};
    const OperationTimes times = times_of(stamps(10'000, 14'000, 65'000), kEvent, nothing);
    CHECK(times.start_ns == 17'500);
    CHECK(times.end_ns == 62'500);
    CHECK(times.likely_ns == 45'100);
    // … but not in the later half of when it can have been
    CHECK(times_of(stamps(10'000, 14'000, 22'500), kEvent, nothing).start_ns == 15'000);
}

TEST_CASE("a stamp long after the call needs no δ", "[operation_times]") {
    const Stamps late = with_start(stamps(10'000, 14'000, 99'000), 14'100 + kSurelyQueuedNs);
    CHECK(times_of(late, kEvent, {}).queued);
    const Stamps sooner = with_start(stamps(10'000, 14'000, 99'000), 14'099 + kSurelyQueuedNs);
    CHECK_FALSE(times_of(sooner, kEvent, {}).queued);
    // What is no δ yet may be a bound of it.
    CHECK(times_of(sooner, kEvent, {{false, 0, 0, 20'000}, kUnknown, kUnknown}).queued);
}

TEST_CASE("the border of what was queued is δ", "[operation_times]") {
    const Usual usual = {kDelay, kFromEnter, kUnknown};
    CHECK(times_of(with_start(stamps(10'000, 14'000, 30'000), 18'200), kEvent, usual).queued);
    const OperationTimes nearly = times_of(with_start(stamps(10'000, 14'000, 30'000), 18'199), kEvent, usual);
    CHECK_FALSE(nearly.queued);
    CHECK(nearly.start_ns == 18'199);  // its stream was busy for longer than δ
}

TEST_CASE("a clock that has jumped makes no exact times", "[operation_times]") {
    Stamps jumped = with_start(stamps(10'000, 14'000, 165'000), 142'500);
    jumped.start = {92'500, 142'500, 192'500, 50'000};
    const OperationTimes times = times_of(jumped, kEvent, {kDelay, kFromEnter, kUnknown});
    CHECK_FALSE(times.queued);
    CHECK(times.start_low_ns == 92'500);
    CHECK(times.likely_ns >= 50'000);
}

TEST_CASE("one that was over before its end event was there is bounded by both", "[operation_times]") {
    //  host    |10 launch (slow) 40|
    //  stream          18 █ 19         |end|42.5
    const Stamps quick = with_start(stamps(10'000, 40'000, 42'500), 12'000);
    const OperationTimes times = times_of(quick, kEvent, {});
    CHECK_FALSE(times.queued);
    CHECK(times.start_low_ns == 11'900);
    CHECK(times.end_low_ns == 11'900);
    CHECK(times.end_high_ns == 42'600);
    CHECK(times.start_ns - times.likely_ns <= 18'000);
    CHECK(times.end_ns - times.likely_ns <= 19'000);
}

TEST_CASE("an end event that came late says little", "[operation_times]") {
    //  host    |10 launch 14|   (the thread lost its processor)   |record 500|
    //  stream         18 ██ 20                                          |end|502.5
    Stamps late = with_start(stamps(10'000, 14'000, 502'500), 12'500);
    late.recorded_ns = 500'000;
    const OperationTimes times = times_of(late, kEvent, {kDelay, kFromEnter, kUnknown});
    CHECK_FALSE(times.queued);
    CHECK(times.start_ns == 18'000);
    CHECK(times.end_low_ns <= 20'000);
    CHECK(times.end_ns - times.likely_ns <= 20'000);
    CHECK_FALSE(observe(late, kEvent).is_whole);
}

TEST_CASE("bounds take an event for one that waited only where that is sure", "[operation_times]") {
    //  host    |10 launch 14| ··· the thread has lost its processor ··· |recorded 100
    //  stream           18 ██ 20                                        |····end 80…130····|
    Stamps late = with_start(stamps(10'000, 14'000, 105'000), 12'500);
    late.recorded_ns = 100'000;
    late.end = {80'000, 105'000, 130'000, 25'000};
    const OperationTimes times = times_of(late, kEvent, {kDelay, kFromEnter, kUnknown});
    CHECK(times.end_low_ns <= 20'000);
    CHECK(times.end_high_ns == 130'000);
}

TEST_CASE("no operation ends before it starts, whatever those alike are said to take", "[operation_times]") {
    const Spread impossible = {true, -5'000, -4'000, -3'000};
    for (const int64_t end_ns : {16'000, 18'000, 30'000, 60'000}) {
        const OperationTimes times = times_of(with_start(stamps(10'000, 14'000, end_ns), 12'500), kEvent,
                                              {kDelay, kFromEnter, impossible});
        CHECK(times.start_ns <= times.end_ns);
    }
}

TEST_CASE("a copy that the call waits for is over when it returns", "[operation_times]") {
    //  host    |10 copy ··············· 60|
    //  stream        18 ██████████████ 60   |end|62.5
    Stamps copy = with_start(stamps(10'000, 60'000, 62'500), 12'000);
    copy.blocking = true;
    const OperationTimes times = times_of(copy, kEvent, {kDelay, kFromEnter, kUnknown});
    CHECK_FALSE(times.queued);
    CHECK(times.start_ns == 18'000);
    CHECK(times.end_ns == 60'000);
    CHECK(times.end_high_ns == 62'600);
}

TEST_CASE("what began after its call had returned was queued, even if such a call may wait",
          "[operation_times]") {
    Stamps copy = with_start(stamps(10'000, 14'000, 65'000), 42'500);
    copy.blocking = true;
    const OperationTimes times = times_of(copy, kEvent, {kDelay, kFromEnter, kUnknown});
    CHECK(times.queued);
    CHECK(times.start_ns == 42'500);
}

TEST_CASE("times never lie outside their bounds", "[operation_times]") {
    for (int64_t start_ns = 0; start_ns < 60'000; start_ns += 1'700)
        for (int64_t end_ns = start_ns; end_ns < 90'000; end_ns += 2'300)
            for (const Usual& usual : {Usual{}, Usual{kDelay, kFromEnter, kUnknown},
                                       Usual{kDelay, kFromEnter, {true, 900, 1'000, 1'100}}}) {
                Stamps any = with_start(stamps(10'000, 14'000, end_ns), start_ns);
                any.blocking = end_ns % 2 == 0;
                const OperationTimes times = times_of(any, kEvent, usual);
                INFO(start_ns << " " << end_ns);
                REQUIRE(times.start_low_ns <= times.start_ns);
                REQUIRE(times.start_ns <= times.start_high_ns);
                REQUIRE(times.end_low_ns <= times.end_ns);
                REQUIRE(times.end_ns <= times.end_high_ns);
                REQUIRE(times.start_ns <= times.end_ns);
            }
}

TEST_CASE("what can be learnt: from when the stream was ready to the end", "[operation_times]") {
    const Observed seen = observe(with_start(stamps(10'000, 14'000, 65'000), 42'500), kEvent);
    CHECK(seen.is_whole);
    CHECK(seen.slack_ns == 28'500);
    CHECK(seen.span_ns == 20'000);
    CHECK(seen.in_call_ns == 4'000);
    CHECK_FALSE(observe(stamps(10'000, 14'000, 65'000), kEvent).is_whole);
    CHECK_FALSE(observe(with_start(stamps(10'000, 40'000, 42'500), 12'000), kEvent).is_whole);
}

}  // namespace time_bounds_test
