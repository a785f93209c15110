#include "shim/rows/tick_map.h"

#include <catch2/catch.hpp>

namespace tick_map_test {

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

// Readings are off by some nanoseconds: of two that are close together the line says nothing about later.
TEST_CASE("before the first pair and after the last a line goes on that has a while between its ends",
          "[clock]") {
    TickMap late;
    late.add({0, 0, 0});
    late.add({20'000'000, 20'000'000, 0});
    late.add({20'000'010, 20'000'015, 0});
    CHECK(late.mono_ns(40'000'010) == 40'000'019);
    TickMap early;
    early.add({100'000'000, 100'000'000, 0});
    early.add({100'000'010, 100'000'015, 0});
    early.add({120'000'000, 120'000'000, 0});
    CHECK(early.mono_ns(80'000'000) == 80'000'000);
}

TEST_CASE("where no two pairs are a while apart, the line of the first and the last goes on", "[clock]") {
    TickMap map;
    map.add({100, 1000, 0});
    map.add({200, 1050, 0});
    map.add({300, 1250, 0});
    CHECK(map.mono_ns(80) == 975);
    CHECK(map.mono_ns(320) == 1275);
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
    // 400 … 800 are left: before them, the line of 400 and 800.
    CHECK(map.mono_ns(450) == 1000 + (160 + 250) / 2);
    CHECK(map.mono_ns(300) == 1160 - 120);
    CHECK(map.mono_ns(800) == 1640);
}

TEST_CASE("years of ticks do not overflow", "[clock]") {
    TickMap map;
    const auto year_ns = int64_t{365} * 86'400 * 1'000'000'000;
    map.add({0, 0, 0});
    map.add({static_cast<uint64_t>(year_ns) * 3, year_ns, 0});
    CHECK(map.mono_ns(static_cast<uint64_t>(year_ns)) == year_ns / 3);
}

}  // namespace tick_map_test
