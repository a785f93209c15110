// How late an anchor's stamp may have been seen.
#include "shim/harvest/anchor_delay.h"

#include <catch2/catch.hpp>

namespace anchor_delay_test {

using namespace gpushim::shim;

TEST_CASE("what an anchor takes longer than the quickest it may be late", "[anchor_delay]") {
    AnchorDelay delay;
    CHECK(delay.late_ns(5'800) == 0);  // nothing is known
    delay.saw(5'800);
    CHECK(delay.late_ns(5'800) == 0);
    CHECK(delay.late_ns(5'400) == 0);
    CHECK(delay.late_ns(9'000) == 3'200);
    delay.saw(5'400);
    CHECK(delay.late_ns(5'800) == 400);
}

TEST_CASE("one that was late changes little, a device that has become slower is believed", "[anchor_delay]") {
    AnchorDelay delay;
    delay.saw(5'400);
    delay.saw(9'400);
    CHECK(delay.late_ns(9'400) > 3'900);
    for (int i = 0; i < 500; ++i) delay.saw(6'400);
    CHECK(delay.late_ns(6'400) < 100);
}

}  // namespace anchor_delay_test
