// Words of the report that depend on what there is to be said.
#include <sqlite3.h>
#include <catch2/catch.hpp>

#include "made_run.h"

namespace report_words_test {

using namespace made;
using Catch::Contains;

namespace {

Report report_of(const std::string& change) {
    RunShape shape;
    shape.ranks = 1;
    const MadeRun made(shape);
    made.change(change);
    const Database run = made.open();
    return write_report({run, nullptr, {}});
}

std::string told_by(const char* sources) {
    return value(report_of("INSERT INTO run VALUES ('sources', '" + std::string(sources) + "')"),
                 "operators_why");
}

}  // namespace

TEST_CASE("why no operator is known depends on who recorded", "[report]") {
    CHECK_THAT(told_by("gpushim"), Contains("a preloaded library does not see operators"));
    CHECK_THAT(told_by("kineto"), Contains("in this profile none was launched within one"));
    CHECK_THAT(told_by("kineto, gpushim"), Contains("none of these traces tells"));
}

TEST_CASE("idle time of one group is no sum, and its cause is told in words", "[report]") {
    const std::string one = text_of(report_of("UPDATE gap SET cause = 'kernel_gap'"));
    INFO(one);
    CHECK_THAT(one, Contains("IDLE       launch ") && !Contains("IDLE       launch 6.80 ="));
    CHECK_THAT(one, Contains("(short gaps between queued operations)"));
    CHECK_THAT(text_of(report_of("")), Contains(" = 6.80 ms"));
}

}  // namespace report_words_test
