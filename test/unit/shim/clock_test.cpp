#include "shim/ring/clock.h"

#include <catch2/catch.hpp>

#include "box.h"
#include "shim/base/system.h"
#include "shim/rows/tick_map.h"

namespace clock_test {

using namespace gpushim::shim;

TEST_CASE("the clock chosen goes on with CLOCK_MONOTONIC", "[clock]") {
    const ClockKind kind = choose_clock();
    REQUIRE(kind != kTestClock);
    TickMap map;
    map.add(read_pair(kind));
    usleep(20'000);
    const ClockPair between = read_pair(kind);
    usleep(20'000);
    map.add(read_pair(kind));
    // Interpolated and read: as far apart as readings of one moment may be on a busy machine.
    CHECK(std::abs(map.mono_ns(between.ticks) - between.mono_ns) < 200'000);
}

TEST_CASE("a pair is of one moment", "[clock]") {
    for (const ClockKind kind : {kCounter, kMonotonic}) {
        const int64_t before = clock_ns(CLOCK_MONOTONIC);
        const ClockPair pair = read_pair(kind);
        CHECK(pair.mono_ns >= before);
        CHECK(pair.mono_ns <= clock_ns(CLOCK_MONOTONIC));
        CHECK(pair.real_ns > int64_t{1'600'000'000} * 1'000'000'000);
    }
    const ClockPair pair = read_pair(kMonotonic);
    CHECK(pair.ticks == static_cast<uint64_t>(pair.mono_ns));
}

TEST_CASE("a program with a test clock is recorded by it", "[clock]") {
    box::knobs("GPUSIM_CLOCK=stepped");
    REQUIRE(choose_clock() == kTestClock);
    const ClockPair first = read_pair(kTestClock);
    usleep(2'000);
    const ClockPair second = read_pair(kTestClock);
    CHECK(first.mono_ns == second.mono_ns);
    CHECK(first.ticks == static_cast<uint64_t>(first.mono_ns));
}

}  // namespace clock_test
