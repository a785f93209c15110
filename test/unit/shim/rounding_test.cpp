#include "shim/base/rounding.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>

namespace rounding_test {

using namespace gpushim::shim;

TEST_CASE("rounding is what libm does", "[rounding]") {
    std::mt19937_64 random(1);
    std::uniform_real_distribution<double> exponent(-3, 17), sign(-1, 1);
    for (int i = 0; i < 100'000; ++i) {
        double value = std::copysign(std::pow(10, exponent(random)), sign(random));
        if (i % 4 == 0) value = std::trunc(value) + 0.5;
        if (i % 4 == 1) value = std::trunc(value);
        CAPTURE(value);
        REQUIRE(rounded_down(value) == std::llround(std::floor(value)));
        REQUIRE(rounded_up(value) == std::llround(std::ceil(value)));
        if (std::abs(value) < 1e15) REQUIRE(rounded(value) == std::llround(value));
    }
}

TEST_CASE("what no int64_t holds is rounded to what one does", "[rounding]") {
    const double infinity = std::numeric_limits<double>::infinity();
    CHECK(rounded_up(infinity) == int64_t{1} << 62);
    CHECK(rounded(-infinity) == -(int64_t{1} << 62));
    CHECK(rounded_down(std::nan("")) == -(int64_t{1} << 62));
}

}  // namespace rounding_test
