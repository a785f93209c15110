#include "shim/program/capture_range.h"

#include <catch2/catch.hpp>
#include <string>

namespace capture_range_test {

using namespace gpushim::shim;

namespace {

// Which of the first twenty steps are wanted: x or -.
std::string wanted(const char* name, const char* text) {
    Config config = default_config();
    REQUIRE(understand(config, name, text));
    std::string steps;
    for (int64_t number = 1; number <= 20; ++number)
        steps += is_wanted_step(config.steps, config.schedule, number) ? 'x' : '-';
    return steps;
}

}  // namespace

TEST_CASE("steps are those of the ranges, first and last included", "[capture_range]") {
    CHECK(wanted("GPUSHIM_STEPS", "3:5") == "--xxx---------------");
    CHECK(wanted("GPUSHIM_STEPS", "1:2,7,19:30") == "xx----x-----------xx");
}

TEST_CASE("a schedule waits, warms up unrecorded, records, and again", "[capture_range]") {
    CHECK(wanted("GPUSHIM_SCHEDULE", "2:1:3:2") == "---xxx---xxx--------");
    CHECK(wanted("GPUSHIM_SCHEDULE", "1:0:2:0") == "-xx-xx-xx-xx-xx-xx-x");
    CHECK(wanted("GPUSHIM_SCHEDULE", "0:0:4:1") == "xxxx----------------");
}

}  // namespace capture_range_test
