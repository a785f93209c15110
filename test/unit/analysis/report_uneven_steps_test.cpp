// What the report says of steps that are not alike: those that become longer, and a long start.
#include <catch2/catch.hpp>

#include "analysis/report/printed.h"
#include "made_run.h"

namespace report_uneven_steps_test {

using namespace made;
using Catch::Contains;

namespace {

Report report_of_steps(const std::string& change) {
    const MadeRun made;
    if (!change.empty()) made.change(change);
    const Database run = made.open();
    return write_report({run, nullptr, {}});
}

}  // namespace

//  step    20        210       399
//  length  ──20 ms────|──40 ms──
TEST_CASE("steps that become longer are told", "[report][report_uneven_steps]") {
    const Report longer = report_of_steps("UPDATE step SET dur_ns = dur_ns * 2 WHERE step >= 210");
    CHECK_THAT(text_of(longer),
               Contains("they become longer: 20.0 ms in the first quarter of them, 40.0 ms in "
                        "the last (medians)"));
    CHECK(value(longer, "steps.last_quarter_median_ns") == "40000000");
    CHECK_THAT(text_of(report_of_steps("UPDATE step SET dur_ns = dur_ns / 2 WHERE step >= 210")),
               Contains("they become shorter: 20.0 ms"));
    CHECK_THAT(text_of(report_of_steps("")), !Contains("they become"));
    CHECK_THAT(text_of(report_of_steps("UPDATE step SET dur_ns = dur_ns * 1.15 WHERE step >= 210")),
               !Contains("they become"));
    CHECK(value(report_of_steps("DELETE FROM step WHERE step >= 55"), "steps.last_quarter_median_ns") == "");
}

// Half of the steps are twice as long, in the first quarter a few less and in the last a few more.
TEST_CASE("steps of two lengths become no longer by chance", "[report][report_uneven_steps]") {
    const Report mixed = report_of_steps(
        "UPDATE step SET dur_ns = dur_ns * 2 WHERE step % 20 < CASE WHEN step < 115 THEN 8 WHEN step >= 305 "
        "THEN"
        " 12 ELSE 10 END");
    CHECK(value(mixed, "steps.first_quarter_median_ns") == "20000000");
    CHECK(value(mixed, "steps.last_quarter_median_ns") == "40000000");
    CHECK_THAT(text_of(mixed), !Contains("they become"));
    // Ten steps a quarter: of the last seven are four times as long, of the first three.
    const Report few = report_of_steps(
        "DELETE FROM step WHERE step >= 60;"
        " UPDATE step SET dur_ns = dur_ns * 4 WHERE step % 10 < CASE WHEN step < 30 THEN 3 WHEN step >= 50 "
        "THEN 7 ELSE 5 END");
    CHECK(value(few, "steps.first_quarter_median_ns") == "20000000");
    CHECK(value(few, "steps.last_quarter_median_ns") == "80000000");
    CHECK_THAT(text_of(few), !Contains("they become"));
}

//  start  |── 10 x 1.2 s ──|── 390 x 20 ms ──|
TEST_CASE("a start that is most of the run is told", "[report][report_uneven_steps]") {
    const auto start_of = [](const char* times) {
        return report_of_steps("UPDATE step SET begin_ns = begin_ns + 10 * (" + std::string(times) +
                               " - 1) * 20000000 WHERE warm_up = 0;"
                               " UPDATE step SET dur_ns = 20000000 * " +
                               times + " WHERE warm_up = 1");
    };
    CHECK_THAT(text_of(start_of("60")), Contains("10 steps of the start take 12.0 s, 61 % of the time of all "
                                                 "steps, and are in no figure of a step"));
    CHECK(value(start_of("60"), "steps.warm_up_ns") == "12000000000");
    CHECK_THAT(text_of(start_of("10")), !Contains("of the start take"));
}

}  // namespace report_uneven_steps_test
