// What the report says of steps that are not alike: those that become longer, and a long start.
#include <catch2/catch.hpp>

#include "analysis/report/printed.h"
#include "made_run.h"

namespace report_steps_test {

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
TEST_CASE("steps that become longer are told", "[report][report_steps]") {
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
TEST_CASE("steps of two lengths become no longer by chance", "[report][report_steps]") {
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
TEST_CASE("a start that is most of the run is told", "[report][report_steps]") {
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

// The definitions as SQL: what the report counts for itself, since SQLite would sort all steps for each.
TEST_CASE("lengths and phases of steps are what SQL says of their rows", "[report]") {
    RunShape shape;
    shape.timed_phases = 30;
    const MadeRun made(shape);
    const Report report = report_of(
        made,
        "UPDATE step SET dur_ns = 18500000 + (step * 7919 + rank_id * 104729) % 3000000;"
        " UPDATE phase SET dur_ns = dur_ns + step * 17, confidence = iif(step % 4 = 0, NULL, 0.5 + step % 3 "
        "/ 8.0);"
        " UPDATE phase SET device_ns = device_ns + step * 31;"
        " INSERT INTO phase (rank_id, step, name, begin_ns, dur_ns, device_ns, confidence)"
        " SELECT rank_id, step, name, begin_ns + 1, 1000, iif(step % 5 = 0, NULL, 700), 0.75 FROM phase"
        " WHERE step % 3 = 0;"
        " INSERT INTO phase (rank_id, step, name, begin_ns, dur_ns) VALUES (0, 1000000, 'forward', 0, 5)");
    const Database run = made.open();
    Query lengths = run.prepare(
        "WITH counted AS (SELECT dur_ns, row_number() OVER (ORDER BY dur_ns) AS place, count(*) OVER () AS n"
        " FROM v_counted_step WHERE is_slice = 0)"
        " SELECT min(iif(place * 100 >= n * 50, dur_ns, NULL)), min(iif(place * 100 >= n * 95, dur_ns, "
        "NULL)),"
        " CAST(round(avg(dur_ns)) AS INTEGER) FROM counted");
    REQUIRE(lengths.step());
    CHECK(value(report, "steps.median_ns") == lengths.text(0));
    CHECK(value(report, "steps.p95_ns") == lengths.text(1));
    CHECK(value(report, "steps.mean_ns") == lengths.text(2));
    Query phases = run.prepare(
        "WITH found AS (SELECT p.rank_id, p.step, p.name, sum(p.dur_ns) AS ns, min(p.confidence) AS "
        "confidence,"
        " CASE WHEN count(p.device_ns) = count(*) THEN sum(p.device_ns) END AS device_ns FROM phase p"
        " JOIN v_counted_step c ON c.rank_id = p.rank_id AND c.step = p.step GROUP BY 1, 2, 3),"
        " steps AS (SELECT rank_id, step, count(device_ns) = count(*) AS is_timed FROM found GROUP BY 1, 2),"
        " n AS (SELECT count(*) AS steps, sum(is_timed) AS timed FROM steps)"
        " SELECT f.name, sum(f.ns) / n.steps, avg(f.confidence),"
        " CASE WHEN n.timed > 0 THEN sum(f.device_ns) FILTER (WHERE s.is_timed) / n.timed END, n.timed"
        " FROM found f JOIN steps s USING (rank_id, step), n GROUP BY f.name ORDER BY f.name = 'forward'");
    for (const Json& phase : report.json["phases"].items()) {
        REQUIRE(phases.step());
        CHECK(phase["name"].text() == "\"" + phases.text(0) + "\"");
        CHECK(phase["ns_per_step"].text() == phases.text(1));
        CHECK(std::stod(phase["confidence"].text()) == Approx(phases.real(2)));
        CHECK(phase["device_ns_per_step"].text() == phases.text(3));
        CHECK(phase["device_steps"].text() == phases.text(4));
        CHECK(phases.number(4) > 0);
    }
    CHECK(!phases.step());
}

}  // namespace report_steps_test
