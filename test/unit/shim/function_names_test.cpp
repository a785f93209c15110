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
