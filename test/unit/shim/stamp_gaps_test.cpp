// What lies between a stamp and a kernel, by the device.
#include "shim/harvest/stamp_gaps.h"

#include <catch2/catch.hpp>

namespace stamp_gaps_test {

using namespace gpushim::shim;

TEST_CASE("a device that was never calibrated may have wide gaps", "[stamp_gaps]") {
    for (const char* name : {"", "NVIDIA H100 80GB HBM3", "Simulated Unkind"}) {
        const StampGaps gaps = stamp_gaps_of(name);
        CHECK_FALSE(gaps.is_calibrated);
        CHECK(gaps.before_high_ns >= 1'500);
        CHECK(gaps.after_high_ns >= 1'500);
    }
}

TEST_CASE("one that was has what was measured", "[stamp_gaps]") {
    const StampGaps gaps = stamp_gaps_of("Simulated GPU 3");
    CHECK(gaps.is_calibrated);
    CHECK(gaps.before_high_ns == 0);
    CHECK(gaps.after_high_ns == 0);
}

TEST_CASE("what was given is taken for every device, and counts as calibrated", "[stamp_gaps]") {
    const StampGapsSetting given = {900, 1100, 800, 1000, true};
    for (const char* name : {"", "NVIDIA H100 80GB HBM3", "Simulated GPU 3"}) {
        const StampGaps gaps = stamp_gaps_of(name, given);
        CHECK(gaps.is_calibrated);
        CHECK(gaps.before_ns == 900);
        CHECK(gaps.before_high_ns == 1100);
        CHECK(gaps.after_ns == 800);
        CHECK(gaps.after_high_ns == 1000);
    }
}

}  // namespace stamp_gaps_test
