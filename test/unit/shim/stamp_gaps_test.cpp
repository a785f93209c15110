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

}  // namespace stamp_gaps_test
