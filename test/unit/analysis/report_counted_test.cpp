// The steps that count, as a report keeps them: tables in memory that stand before views of its file.
#include <catch2/catch.hpp>

#include "analysis/report/counted.h"
#include "made_run.h"

namespace report_counted_test {

using namespace made;

namespace {

int64_t number_of(const Database& run, const char* sql) {
    Query query = run.prepare(sql);
    REQUIRE(query.step());
    return query.number(0);
}

}  // namespace

TEST_CASE("what stands before a view is what the view says", "[report_counted]") {
    const MadeRun made;
    const Database run = made.open();
    const ReportSource source = {run};
    counted_steps(source);
    CHECK(number_of(run, "SELECT count(*) FROM temp.v_run_steps") == 2);
    for (const char* view : {"v_run_steps", "v_gpu_total", "v_gpu_idle"}) {
        const std::string stands = std::string("temp.") + view, is = std::string("main.") + view;
        INFO(view);
        const std::string columns = std::string(view) == "v_run_steps" ? "*" : "gpu_id";
        CHECK(number_of(run, ("SELECT count(*) FROM (SELECT " + columns + " FROM " + stands +
                              " EXCEPT SELECT " + columns + " FROM " + is + ")")
                                 .c_str()) == 0);
    }
}

TEST_CASE("a view that somebody made fills no memory", "[report_counted]") {
    const MadeRun made;
    made.change(
        "DROP VIEW v_run_steps; CREATE VIEW v_run_steps AS WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT"
        " i + 1 FROM n WHERE i < 100000) SELECT i AS rank_id, zeroblob(1000) AS steps, 400 AS whole_steps,"
        " 400 AS recorded_steps FROM n");
    const Database run = made.open();
    const ReportSource source = {run};
    counted_steps(source);
    CHECK(number_of(run, "SELECT count(*) FROM temp.v_run_steps") == 2);
    CHECK(number_of(run, "SELECT max(length(steps)) FROM temp.v_run_steps") == 1);
}

}  // namespace report_counted_test
