#include "analysis/nearest.h"

#include <catch2/catch.hpp>
#include <limits>

using gpushim::analysis::nearest;

TEST_CASE("a reckoned figure is the nearest whole number", "[nearest]") {
    CHECK(nearest(2.4) == 2);
    CHECK(nearest(2.5) == 3);
    CHECK(nearest(-2.5) == -3);
}

TEST_CASE("a reckoned figure that is no number has a number all the same", "[nearest]") {
    constexpr double kWithoutEnd = std::numeric_limits<double>::infinity();
    CHECK(nearest(-7.8e20) == INT64_MIN);
    CHECK(nearest(0x1p63) == INT64_MAX);
    CHECK(nearest(kWithoutEnd) == INT64_MAX);
    CHECK(nearest(-kWithoutEnd) == INT64_MIN);
    CHECK(nearest(std::numeric_limits<double>::quiet_NaN()) == 0);
}
