// Numbers as people write them.
#include <catch2/catch.hpp>

#include "analysis/command/report_options.h"
#include "analysis/failure.h"

namespace report_options_test {

using namespace gpushim::analysis;

TEST_CASE("counts and bandwidths are taken as written, or refused", "[report_options]") {
    CHECK(count_from("params", "11689512") == 11'689'512);
    CHECK(count_from("params", "1.5M") == 1'500'000);
    CHECK(count_from("params", "7B") == 7'000'000'000);
    for (const char* wrong : {"", "x", "-1", "0", "1.5", "12 ", "3Q", "1e30", "nan", "inf"})
        CHECK_THROWS_AS(count_from("params", wrong), Failure);

    CHECK(bandwidth_from("bandwidth", "300GB/s") == 300e9);
    CHECK(bandwidth_from("bandwidth", "25GB") == 25e9);
    CHECK(bandwidth_from("bandwidth", "200e9B/s") == 200e9);
    CHECK(bandwidth_from("bandwidth", "400Gb/s") == 50e9);
    CHECK(bandwidth_from("bandwidth", "1GiB/s") == 1024.0 * 1024 * 1024);
    for (const char* wrong : {"", "GB/s", "3x", "-1GB/s", "0", "300GB/h", "300 GB/s", "300", "200e9/s"})
        CHECK_THROWS_AS(bandwidth_from("bandwidth", wrong), Failure);

    CHECK(price_from("price", "2.50") == 2.5);
    for (const char* wrong : {"", "$2", "2k", "-1"}) CHECK_THROWS_AS(price_from("price", wrong), Failure);
}

}  // namespace report_options_test
