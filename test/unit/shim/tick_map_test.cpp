#include "shim/tick_map.h"

#include <catch2/catch.hpp>

using namespace gpushim::shim;

// ticks   100 ──── 200 ── 240
// ns     1000     1050   1150
TEST_CASE("times are on the line between the pairs around them", "[clock]") {
    TickMap map;
    map.add({100, 1000, 0});
    map.add({200, 1050, 0});
    map.add({240, 1150, 0});
    CHECK(map.mono_ns(100) == 1000);
    CHECK(map.mono_ns(150) == 1025);
    CHECK(map.mono_ns(200) == 1050);
    CHECK(map.mono_ns(220) == 1100);
    CHECK(map.mono_ns(240) == 1150);
    CHECK(map.covers(240));
    CHECK(!map.covers(241));
}

TEST_CASE("before the first pair and after the last the nearest line goes on", "[clock]") {
    TickMap map;
    map.add({100, 1000, 0});
    map.add({200, 1050, 0});
    map.add({300, 1250, 0});
    CHECK(map.mono_ns(80) == 990);
    CHECK(map.mono_ns(310) == 1270);
}

TEST_CASE("a pair that is not later changes nothing", "[clock]") {
    TickMap map;
    map.add({100, 1000, 0});
    map.add({200, 1100, 0});
    map.add({200, 9999, 0});
    map.add({150, 9999, 0});
    CHECK(map.mono_ns(150) == 1050);
}

TEST_CASE("the oldest half goes when there are too many", "[clock]") {
    TickMap map(8);
    for (uint64_t i = 0; i <= 8; ++i) map.add({100 * i, static_cast<int64_t>(1000 + 10 * i * i), 0});
    // 400 … 800 are left: before them, the line of 400 and 500.
    CHECK(map.mono_ns(450) == 1000 + (160 + 250) / 2);
    CHECK(map.mono_ns(300) == 1160 - 90);
    CHECK(map.mono_ns(800) == 1640);
}

TEST_CASE("years of ticks do not overflow", "[clock]") {
    TickMap map;
    const auto year_ns = int64_t{365} * 86'400 * 1'000'000'000;
    map.add({0, 0, 0});
    map.add({static_cast<uint64_t>(year_ns) * 3, year_ns, 0});
    CHECK(map.mono_ns(static_cast<uint64_t>(year_ns)) == year_ns / 3);
}
