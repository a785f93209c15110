#include "shim/program/function_names.h"

#include <catch2/catch.hpp>

namespace function_names_test {

using namespace gpushim::shim;

TEST_CASE("a name is told until what had it may be gone", "[function_names]") {
    forget_wishes();
    CHECK_FALSE(is_name_told(0xf00));
    name_is_told(0xf00);
    name_is_told(0xf10);
    CHECK(is_name_told(0xf00));
    function_is_new(0xf00);
    CHECK_FALSE(is_name_told(0xf00));
    CHECK(is_name_told(0xf10));
    functions_may_be_gone();
    CHECK_FALSE(is_name_told(0xf10));
}

TEST_CASE("a name that was told before code was unloaded is not told however often that happens",
          "[function_names]") {
    forget_wishes();
    constexpr int kMoreThanAreCounted = 70'000;
    name_is_told(0xf00);
    int told = 0;
    for (int i = 0; i < kMoreThanAreCounted; ++i) {
        functions_may_be_gone();
        told += is_name_told(0xf00);
    }
    CHECK(told == 0);
    name_is_told(0xf00);
    CHECK(is_name_told(0xf00));
}

TEST_CASE("what is no address has no place", "[function_names]") {
    constexpr uint64_t kTagged = uint64_t{1} << 56 | 0xf00;
    forget_wishes();
    name_is_told(kTagged);
    name_is_told(0);
    CHECK_FALSE(is_name_told(kTagged));
    CHECK_FALSE(is_name_told(0xf00));
    CHECK_FALSE(is_name_told(0));
}

TEST_CASE("of more functions than there are places for the newest are remembered", "[function_names]") {
    forget_wishes();
    constexpr uint64_t kMany = 100'000, kApart = 208;
    for (uint64_t i = 1; i <= kMany; ++i) name_is_told(i * kApart);
    CHECK(is_name_told(kMany * kApart));
    for (uint64_t i = 1; i <= kMany; ++i) {
        function_is_new(i * kApart);
        REQUIRE_FALSE(is_name_told(i * kApart));
    }
    forget_wishes();
}

}  // namespace function_names_test
