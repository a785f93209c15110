#include "analysis/text/units.h"

#include <catch2/catch.hpp>
#include <limits>

#include "analysis/report/distribution.h"
#include "analysis/text/json.h"

namespace units_test {

using namespace gpushim::analysis;

TEST_CASE("numbers have three digits and a unit", "[units]") {
    CHECK(count_text(0) == "0");
    CHECK(count_text(999) == "999");
    CHECK(count_text(1000) == "1,000");
    CHECK(count_text(-1234567) == "-1,234,567");
    CHECK(duration_text(0) == "0 ns");
    CHECK(duration_text(999) == "999 ns");
    CHECK(duration_text(999.6) == "1.00 us");
    CHECK(duration_text(4100) == "4.10 us");
    CHECK(duration_text(99'960'000) == "100 ms");
    CHECK(bytes_text(46.8e6) == "46.8 MB");
    CHECK(rate_text(25e9) == "25.0 GB/s");
    CHECK(memory_text(16.0 * (1 << 30)) == "16.0 GiB");
    CHECK(time_text(1'700'000'000'000'000'000) == "2023-11-14 22:13:20 UTC");
}

TEST_CASE("percentiles are values that came", "[distribution]") {
    Distribution times;
    CHECK(times.percentile(0.5) == -1);
    for (const int64_t ns : {4, 1, 3, 2}) times.add(ns, 1);
    CHECK(times.percentile(0.50) == 2);
    CHECK(times.percentile(0.99) == 4);
    times.add(60, 6);  // six calls of 10
    CHECK(times.percentile(0.50) == 10);
    times.add_untimed(5);
    CHECK(times.percentile(0.50) == 10);
    CHECK(times.calls() == 15);
    CHECK(times.sum_ns() == 70);
}

TEST_CASE("JSON keeps the order of keys, and numbers that are none are null", "[json]") {
    Json value = Json::object({{"b", 1}, {"a", nullptr}});
    value.set("c", std::numeric_limits<double>::infinity());
    value.set("d", std::optional<int64_t>());
    CHECK(value.text() == R"({"b": 1, "a": null, "c": null, "d": null})");
}

}  // namespace units_test
