// Of what a clock's stamps are multiples.
#include "shim/harvest/clock_grain.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <random>

namespace clock_grain_test {

using namespace gpushim::shim;

namespace {

int64_t found(double grain_ns, int differences, double rounding_ns = 0) {
    ClockGrain grain;
    std::minstd_rand random(7);
    for (int i = 0; i < differences; ++i) {
        const double steps = static_cast<double>(random() % 10'000 + 1);
        const double off = rounding_ns * (static_cast<double>(random() % 1001) / 500 - 1);
        grain.saw(steps * grain_ns + off, rounding_ns);
    }
    return grain.ns();
}

}  // namespace

TEST_CASE("the grain is the largest step of which all are multiples", "[clock_grain]") {
    for (const int64_t grain : {1'024, 512, 256, 128, 64, 32}) {
        CHECK(found(static_cast<double>(grain), 200) == grain);
        CHECK(found(static_cast<double>(grain), 200, 3) == grain);
    }
    CHECK(found(1, 200) == 0);
    CHECK(found(2'500, 200) == 0);
}

TEST_CASE("little that was seen says nothing", "[clock_grain]") {
    CHECK(found(1'024, 5) == 0);
    CHECK(found(1'024, 200, 1'000) == 0);  // what was seen may be off by more than the step
}

TEST_CASE("what is less than the least step is known to be, what was hardly seen is not", "[clock_grain]") {
    ClockGrain grain;
    CHECK_FALSE(grain.is_known());
    for (int i = 1; i <= 10; ++i) grain.saw(1'024.0 * i, 0);
    CHECK(grain.is_known());
    grain.saw(1'037, 0);
    CHECK(grain.ns() == 0);
    CHECK(grain.is_known());
}

TEST_CASE("one difference that does not fit refutes a step for good", "[clock_grain]") {
    ClockGrain grain;
    for (int i = 1; i <= 10; ++i) grain.saw(1'024.0 * i, 0);
    CHECK(grain.ns() == 1'024);
    grain.saw(1'056, 0);
    CHECK(grain.ns() == 32);
    grain.saw(1'057.5, 0);
    CHECK(grain.ns() == 0);
    for (int i = 1; i <= 10; ++i) grain.saw(1'024.0 * i, 0);
    CHECK(grain.ns() == 0);
}

TEST_CASE("spans that are multiples of a grain have a mean, and what was held up is none of them",
          "[clock_grain]") {
    ClockGrain grain;
    const int64_t plain[] = {2'400, 2'500, 2'500, 2'600, 50'000};
    CHECK(grain.usual(plain) == 2'500);
    for (int i = 1; i <= 10; ++i) grain.saw(1'024.0 * i, 0);
    const int64_t grained[] = {2'048, 2'048, 2'048, 2'048, 3'072, 3'072, 51'200};
    CHECK(grain.usual(grained) == (4 * 2'048 + 2 * 3'072) / 6);
}

}  // namespace clock_grain_test
