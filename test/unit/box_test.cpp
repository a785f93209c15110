#include "box.h"

namespace box_test {

TEST_CASE("knobs become variables of this process", "[box]") {
    box::knobs("GPUSIM_DEVICES=2 GPUSIM_NAME=A=B");
    CHECK(getenv("GPUSIM_DEVICES") == std::string("2"));
    CHECK(getenv("GPUSIM_NAME") == std::string("A=B"));
}

TEST_CASE("a name with commas, [brackets], \"quotes\" and \\ is found by the runner", "[box]") {
    CHECK(std::getenv("GPUSHIM_BUILD") != nullptr);
}

TEST_CASE("a second set of knobs in one case is refused", "[box][!shouldfail]") {
    box::knobs("GPUSIM_DEVICES=2");
    box::knobs("GPUSIM_DEVICES=3");
}

}  // namespace box_test
