// What the report says of what is reduced in a step, beside the model's parameters.
#include <catch2/catch.hpp>
#include <string>

#include "analysis/report/printed.h"
#include "made_run.h"

namespace report_allreduce_test {

using namespace made;
using Catch::Contains;

namespace {

Report report_of(const MadeRun& made, const ReportOptions& options = {}) {
    const Database run = made.open();
    return write_report({run, nullptr, options});
}

}  // namespace

TEST_CASE("what is reduced is a model's parameters only where it can be", "[report]") {
    const auto line = [](const char* params_implied, bool has_batches, const char* first_ns = "900") {
        const MadeRun made;
        made.change("UPDATE allreduce_check SET params = NULL, ratio_to_params = NULL, params_implied = " +
                    std::string(params_implied));
        if (has_batches) {
            made.change("DELETE FROM phase");
            for (const char* name : {"forward", "communication"})
                for (int batch = 0; batch < 4; ++batch)
                    made.change(
                        "INSERT INTO phase (rank_id, step, name, begin_ns, dur_ns, device_ns)"
                        " SELECT rank_id, step, '" +
                        std::string(name) + "', begin_ns + " +
                        std::to_string(batch * 2000 + (*name == 'c' ? 1000 : 0)) + ", 900, " +
                        (batch == 0 ? first_ns : "900") + " FROM v_counted_step WHERE rank_id = 0");
            made.change(
                "INSERT INTO phase (rank_id, step, name, begin_ns, dur_ns)"
                " SELECT rank_id, step, 'optimizer', begin_ns + 9000, 10 FROM v_counted_step");
        }
        const std::string text = text_of(report_of(made));
        return text.substr(text.find("ALLREDUCE"), 70);
    };
    CHECK_THAT(line("11689512", false), Contains("= 11,689,512 parameters x 4"));
    CHECK_THAT(line("11689512", true), Contains("= 4 batches x 2,922,378 parameters x 4"));
    CHECK_THAT(line("11689512", true, "10"), Contains("= 11,689,512 parameters x 4"));  // of a loss
    CHECK_THAT(line("1", false), !Contains("parameters"));
}

TEST_CASE("what the person says wins over what the run was analysed with", "[report]") {
    const MadeRun made;
    ReportOptions options;
    options.params = 5'844'756;
    options.bandwidth_bytes_per_s = 100e9;
    const Report report = report_of(made, options);
    CHECK(std::stod(value(report, "allreduce_check.ratio_to_params")) == Approx(2));
    CHECK(value(report, "allreduce_check.expected_ns") == "467580");
    CHECK(value(report, "collectives[0].expected_simple_ns") == "233790");
    CHECK(value(report, "collectives[0].bandwidth_source") == "given");
    CHECK(value(report, "allreduce_check.params") == "5844756");
    const Report as_analysed = report_of(made);
    CHECK(value(as_analysed, "collectives[0].bandwidth_source") == "measured");
    CHECK(value(as_analysed, "allreduce_check.params") == "11689512");
}

}  // namespace report_allreduce_test
