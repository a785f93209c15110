// Gaps that go on behind the end of a piece, and what their host did from before its begin.
#include "analysis/busy/ahead.h"

#include "analysis/advice/advise.h"
#include "analysis/process/temporary.h"
#include "analysis/run/analyze.h"
#include "made_trace.h"

#include <catch2/catch.hpp>

namespace ahead_test {

using namespace made;

namespace {

constexpr int64_t kUs = 1000;

//  us        0        60  100       200   218    250   300
//  steps     |             |         |                  |        each a window, and a piece
//  GPU         18██████                    ██N████
//  thread    L1┐  ┌sync┐62               210┌N┐                  off its CPU until 170, running until 210
Made long_gap() {
    Made made;
    for (int64_t i = 0; i <= 3; ++i)
        made.run("INSERT INTO marker VALUES (" + std::to_string(i * 100 * kUs) +
                 ", 1, 'step', NULL, 8, NULL, NULL, NULL, NULL, 0)");
    made.timed(10 * kUs, 14 * kUs, 18 * kUs, 60 * kUs, 3);
    made.sync(20 * kUs, 62 * kUs);
    made.run(
        "INSERT INTO host_gap (enter_ns, dur_ns, thread_id, running_ns, samples)"
        " VALUES (62000, 148000, 1, 40000, 0)");
    made.window(5 * kUs, 100 * kUs, 1, 1);
    made.window(100 * kUs, 200 * kUs, 0, 0);
    made.window(200 * kUs, 300 * kUs, 1, 1);
    made.ends(300 * kUs);
    return made;
}
void end_of_gap(Made& made) { made.timed(210 * kUs, 214 * kUs, 218 * kUs, 250 * kUs, 3); }

std::string causes_of(const Made& made) {
    const TemporaryFolder folder;
    const Database run(analyze(made.inputs(), {}, folder.path() / "run.db", write_findings));
    Query query = run.prepare(
        "SELECT group_concat(text, ', ') FROM (SELECT step || ' ' || cause || ' ' || (sum(ns) / 1000) AS text"
        " FROM gap GROUP BY step, cause ORDER BY step, cause)");
    query.step();
    return query.text(0);
}

}  // namespace

TEST_CASE("a gap over several pieces has in each the cause of what ended it", "[ahead]") {
    Made made = long_gap();
    end_of_gap(made);
    // Asked 8 us earlier: sync until 70, off its CPU until 178, running until 218. The begin of the first
    // step is not timed.
    CHECK(causes_of(made) ==
          "-1 host_blocked 30, -1 host_unknown 13, -1 sync 10,"
          " 1 host_blocked 78, 1 host_cpu 22, 2 host_cpu 18, 2 tail 50");
}

TEST_CASE("what ended a gap is found behind thousands of other calls", "[ahead]") {
    Made made = long_gap();
    end_of_gap(made);
    made.run(
        "WITH RECURSIVE i(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM i LIMIT 5000)"
        " INSERT INTO memory (enter_ns, dur_ns, thread_id, flags) SELECT 100001 + 10 * n, 5, 2, 0 FROM i");
    CHECK(causes_of(made) ==
          "-1 host_blocked 30, -1 host_unknown 13, -1 sync 10,"
          " 1 host_blocked 78, 1 host_cpu 22, 2 host_cpu 18, 2 tail 50");
}

TEST_CASE("where nothing follows, or nothing with device times, a gap is the tail", "[ahead]") {
    Made nothing = long_gap();
    CHECK(causes_of(nothing) == "-1 host_unknown 13, -1 tail 40, 1 tail 100, 2 tail 100");
    Made untimed = long_gap();
    untimed.run("DELETE FROM \"window\" WHERE enter_ns >= 200000");
    untimed.launch(210 * kUs, 214 * kUs);
    CHECK(causes_of(untimed) == "-1 host_unknown 13, -1 tail 40, 1 tail 100");
}

//  device 0   L untimed 30          L 50            L 70
TEST_CASE("the next operation of a device", "[ahead]") {
    Made made;
    made.launch(30, 31);
    made.timed(50, 51, 55, 60, 3);
    made.timed(70, 71, 75, 80, 3);
    Ahead ahead(made.inputs().traces[0]);
    CHECK(!ahead.first_of(0, 20));  // it has no device times
    REQUIRE(ahead.first_of(0, 31));
    CHECK(ahead.first_of(0, 50)->times.start_ns == 55);
    CHECK(ahead.first_of(0, 51)->enter_ns == 70);
    CHECK(!ahead.first_of(0, 71));
    CHECK(!ahead.first_of(1, 71));
}

}  // namespace ahead_test
