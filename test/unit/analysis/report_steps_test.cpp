// What the report says of the part of the run that steps are, and of their phases.
#include <sqlite3.h>
#include <catch2/catch.hpp>

#include "analysis/report/all_steps.h"
#include "analysis/step/steps.h"
#include "made_run.h"

namespace report_steps_test {

using namespace made;
using Catch::Contains;

namespace {

Report report_of(const MadeRun& made, const std::string& change, std::optional<int64_t> samples = {}) {
    made.change(change);
    const Database run = made.open();
    ReportOptions options;
    options.samples_per_step = samples;
    return write_report({run, nullptr, options});
}

}  // namespace

//  run     |                  8 s                              |
//  steps                             |   100 of 20 ms   |         from 5 s on
TEST_CASE("where steps are a small part of the run, the report says which", "[report]") {
    RunShape shape;
    shape.all_steps = 100;
    const MadeRun made(shape);
    const Report report = report_of(made, "UPDATE rank SET first_ns = -5000000000, last_ns = 3000000000");
    INFO(text_of(report));
    CHECK_THAT(text_of(report),
               Contains("they take 2.00 s, 25 % of the run, from 5.00 s on; the rest of it is in no figure"));
    CHECK(value(report, "steps.before_ns") == "5000000000");
    CHECK(std::stod(value(report, "steps.run_share")) == Approx(0.25).epsilon(0.01));

    const Report most = report_of(made, "UPDATE rank SET first_ns = 0");
    CHECK_THAT(text_of(most), !Contains("they take"));
    CHECK(std::stod(value(most, "steps.run_share")) == Approx(0.667).epsilon(0.01));
    const Report unknown = report_of(made, "UPDATE rank SET first_ns = NULL");
    CHECK_THAT(text_of(unknown), !Contains("they take"));
    CHECK(value(unknown, "steps.run_share") == "");
    CHECK(unexplained(unknown) == "");
}

TEST_CASE("stretches that update no parameters are told of, and are no steps", "[report]") {
    const MadeRun made({.ranks = 1});
    const Report before = report_of(made, "");
    CHECK_THAT(text_of(before), !Contains("update no parameters"));
    CHECK(value(before, "steps.no_update_count") == "");
    CHECK(unexplained(before) == "");
    const auto all_steps = [&] {
        const Database run = made.open();
        Query query = run.prepare("SELECT steps, whole_steps FROM v_run_steps");
        return query.step() ? std::pair(query.number(0), query.number(1)) : std::pair<int64_t, int64_t>(0, 0);
    };
    const auto [steps, whole_steps] = all_steps();
    const Report report =
        report_of(made, "UPDATE step SET left_out = 1, warm_up = 0, why = '" + std::string(kTrainsNothing) +
                            "' WHERE step % 10 = 9 AND step >= 20");
    INFO(text_of(report));
    CHECK_THAT(text_of(report), Contains("38 stretches, 766 ms in all, update no parameters "
                                         "(evaluations, or the like) and are no steps"));
    CHECK(value(report, "steps.no_update_count") == "38");
    CHECK(value(report, "steps.no_update_ns") == "766500000");
    // What is counted of all steps is divided by those that are some.
    // … but for what these launched: as many steps more as they are long.
    CHECK(all_steps() == std::pair(steps - 38, whole_steps));
}

TEST_CASE("of how many steps totals are is said as closely as it is felt", "[report]") {
    CHECK(AllSteps{3, 3}.differing_text().empty());
    CHECK(AllSteps{3.02, 3}.differing_text().empty());
    CHECK(AllSteps{4, 3}.differing_text() == "mean of all 4 steps");
    CHECK(AllSteps{4.4, 3, true}.differing_text() == "mean with evaluations");
    CHECK(AllSteps{100.3, 100, true}.differing_text().empty());
    CHECK(AllSteps{4.48, 3}.differing_text() == "mean of 4.5 steps' work");
    CHECK(AllSteps{103.7, 100}.differing_text() == "mean of all 104 steps");
}

//  launched   k │k  k  k  k│ k        the first before the first step, the last in one without an end
//  steps        |1 |2 |3 |4 |
TEST_CASE("a kernel's time a step is said to be of the steps that it is the mean of", "[report]") {
    const MadeRun made({.ranks = 1});
    const auto steps = [&](const char* column) {
        const Database run = made.open();
        Query query = run.prepare("SELECT round(" + std::string(column) + ") FROM v_run_steps");
        return query.step() ? query.number(0) : 0;
    };
    const int64_t recorded = steps("recorded_steps");
    CHECK_THAT(text_of(report_of(made, "UPDATE rank SET outside_steps = 2")),
               Contains("a step: mean of all " + std::to_string(recorded) + " steps"));
    CHECK(steps("whole_steps") == recorded + 2);
}

//  20 ms │20 ms │… │ 220 ms │20 ms │ …      each tenth is 200 ms longer: 20 ms is no pace
TEST_CASE("of uneven steps the mean is said, too, and rates are of it", "[report]") {
    RunShape shape;
    shape.ranks = 1;
    const MadeRun made(shape);
    CHECK_THAT(text_of(report_of(made, "", 64)), Contains("STEP     20.0 ms · 50/s · 3,199 samples/s ·"));
    const Report uneven = report_of(
        made, "UPDATE step SET dur_ns = CASE WHEN number % 10 = 5 THEN 220000000 ELSE 20000000 END", 64);
    INFO(text_of(uneven));
    CHECK(value(uneven, "steps.median_ns") == "20000000");
    CHECK(value(uneven, "steps.mean_ns") == "40000000");
    CHECK_THAT(text_of(uneven), Contains("STEP     20.0 ms (mean 40.0 ms) · 25/s · 1,600 samples/s ·"));
    CHECK_THAT(text_of(uneven), Contains(", 40.0 ms mean"));
    CHECK(std::stod(value(uneven, "steps.samples_per_s")) == Approx(1600));
}

// Forward takes 5, 5.5 and 6 ms in those that were timed.
TEST_CASE("what phases take on the GPU is a mean of the steps that were timed", "[report]") {
    RunShape shape;
    shape.ranks = 1;
    shape.timed_phases = 3;
    const Report some = report_of(MadeRun(shape), "");
    CHECK_THAT(text_of(some),
               Contains("PHASES     input 4.80 ms + forward 5.50 ms (on GPUs in 3 of 57 steps, 80 % sure)"));
    CHECK(some.json["phases"].items()[1]["device_ns_per_step"].text() == "5500000");
    CHECK(some.json["phases"].items()[1]["device_steps"].text() == "3");
    shape.timed_phases = 0;
    const Report none = report_of(MadeRun(shape), "");
    CHECK_THAT(text_of(none),
               Contains("PHASES     input 4.80 ms + forward 6.00 ms (to launch it, 80 % sure)"));
    CHECK(none.json["phases"].items()[1]["device_ns_per_step"].text() == "null");
}

//  asked for  |  20 steps  |        of idle time, what ranges and lines of Python say is of all steps
TEST_CASE("of some steps, ranges and lines of Python are said to be of the whole run", "[report]") {
    const MadeRun made;
    made.change(
        "INSERT INTO idle_range SELECT gpu_id, 'counted', 'host_cpu', NULL, 'save', sum(ns), 0 FROM "
        "v_gpu_idle"
        " GROUP BY gpu_id;"
        " INSERT INTO idle_python SELECT b.gpu_id, b.step, p.cause, 'train.py', 'main', 7, p.ns, 1, NULL, "
        "NULL,"
        " NULL FROM v_gpu_basis b JOIN gap p ON p.gpu_id = b.gpu_id AND p.step = b.step");
    const Report all = report_of(made, "");
    INFO(text_of(all));
    CHECK_THAT(text_of(all), Contains("by the program's ranges, of idle time: 100 % save"));
    CHECK_THAT(text_of(all), Contains("by samples of Python, of idle time: 100 % "));

    const Database run = made.open();
    ReportOptions some;
    some.to_step = 40;
    const Report part = write_report({run, nullptr, some});
    INFO(text_of(part));
    CHECK_THAT(text_of(part), Contains("by the program's ranges, of idle time of the whole run: 100 % save"));
    CHECK_THAT(text_of(part), Contains("by samples of Python, of idle time of the whole run: 100 % "));
    CHECK(!part.json["idle_ranges"].is_null());
    const std::string members = part.json["asked_steps"]["members"].text();
    CHECK_THAT(members, Contains("\"cost\"") && !Contains("idle_ranges") && !Contains("idle_python"));
}

TEST_CASE("phases that are too long to add up are told, not shown", "[report]") {
    const MadeRun made({.ranks = 1});
    CHECK_THROWS_WITH(report_of(made, "UPDATE phase SET dur_ns = 9223372036854775807"),
                      Contains("integer overflow"));
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
