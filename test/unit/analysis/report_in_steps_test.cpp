// Kernels and launches of a run in which not all GPUs work in steps, as the report tells them.
#include <sqlite3.h>

#include <catch2/catch.hpp>

#include "analysis/report/printed.h"
#include "made_run.h"

namespace report_in_steps_test {

using namespace made;
using Catch::Contains;

namespace {

Report report_of(const Database& run) { return write_report({run, nullptr, {}}); }

}  // namespace

// A GPU that runs its part outside of steps has no part in what a kernel takes in them.
TEST_CASE("what a GPU ran outside of steps does not shorten a kernel in them", "[report]") {
    const MadeRun made;
    made.change("UPDATE kernel SET in_steps = launches, timed_in_steps = timed, in_steps_ns = sum_ns");
    made.change("UPDATE launch_stat SET in_steps = count");
    const double both_ns = std::stod(value(report_of(made.open()), "kernels[0].per_step_ns"));
    made.change(
        "UPDATE kernel SET in_steps = 0, timed_in_steps = 0, in_steps_ns = 0 WHERE gpu_id = 0;"
        "UPDATE launch_stat SET in_steps = 0, count = count + 1 WHERE gpu_id = 0");
    const Report report = report_of(made.open());
    CHECK(std::stod(value(report, "kernels[0].per_step_ns")) == Approx(both_ns / 2).epsilon(0.2));
    CHECK_THAT(text_of(report), Contains("LAUNCH     412/step"));
    CHECK(asked(report,
                "SELECT group_concat(json_extract(value, '$.per_step_ns') ISNULL, '') FROM json_each(?1, "
                "'$.kernels')")
              .find('1') == std::string::npos);
}

}  // namespace report_in_steps_test
