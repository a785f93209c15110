#include "analysis/to_int64.h"

#include <catch2/catch.hpp>
#include <limits>

namespace to_int64_test {

using gpushim::analysis::to_int64;

TEST_CASE("a reckoned figure is the to_int64 whole number", "[to_int64]") {
    CHECK(to_int64(2.4) == 2);
    CHECK(to_int64(2.5) == 3);
    CHECK(to_int64(-2.5) == -3);
}

TEST_CASE("a reckoned figure that is no number has a number all the same", "[to_int64]") {
    constexpr double kWithoutEnd = std::numeric_limits<double>::infinity();
    CHECK(to_int64(-7.8e20) == INT64_MIN);
    CHECK(to_int64(0x1p63) == INT64_MAX);
    CHECK(to_int64(kWithoutEnd) == INT64_MAX);
    CHECK(to_int64(-kWithoutEnd) == INT64_MIN);
    CHECK(to_int64(std::numeric_limits<double>::quiet_NaN()) == 0);
}

}  // namespace to_int64_test
