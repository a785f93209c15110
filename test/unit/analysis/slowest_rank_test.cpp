// Who others wait for, from window to window.
#include "analysis/live/slowest_rank.h"

#include <catch2/catch.hpp>

namespace slowest_rank_test {

using gpushim::analysis::SlowestRank;

TEST_CASE("the slowest rank is who was it in two windows in a row", "[live]") {
    SlowestRank slowest;
    CHECK(!slowest.is_agreed());
    slowest.see(1, "a");
    slowest.see(1, "a");  // another look at the same one
    CHECK(!slowest.is_agreed());
    slowest.see(2, "a");
    CHECK(slowest.is_agreed());
    slowest.see(3, "b");
    CHECK(!slowest.is_agreed());
    slowest.see(4, "");
    slowest.see(5, "");
    CHECK(!slowest.is_agreed());  // nobody, twice
    slowest.see(6, "b");
    slowest.see(7, "b");
    CHECK(slowest.is_agreed());
}

}  // namespace slowest_rank_test
