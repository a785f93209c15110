// Busy shares of traces of which some rows are gone, and what the report says of them.
#include "analysis/trace/dropped_spans.h"

#include "analysis/process/temporary.h"
#include "analysis/report/printed.h"
#include "analysis/run/sql/run_db.h"
#include "made_trace.h"

#include <algorithm>
#include <catch2/catch.hpp>

namespace dropped_spans_test {

using namespace made;

namespace {

constexpr int64_t kMs = 1'000'000;

std::string line_of(const Report& report, const std::string& part) {
    const std::vector<std::string> lines = as_text(report);
    const auto found = std::find_if(lines.begin(), lines.end(), [&](const std::string& line) {
        return line.find(part) != std::string::npos;
    });
    return found != lines.end() ? *found : "";
}

// With a run database that says nothing: what only traces say.
Report report_of(const Inputs& inputs) {
    const TemporaryFolder folder;
    RunDb(folder.path() / "run.db").finish();
    const Database run(folder.path() / "run.db");
    ReportOptions all;
    all.all = true;
    return write_report({run, &inputs, all});
}

// A window until 5 s behind or over a span without rows, whose one operation is over at 4.2 s.
void check_from_4_s(Made& made, int64_t from_ns, int operations) {
    made.gone(1000 * kMs, 3000 * kMs);
    made.total(1, 1);
    made.timed(3100 * kMs, 3101 * kMs, 4000 * kMs, 4200 * kMs, 3);
    made.window(from_ns, 5000 * kMs, operations, operations);
    made.ends(6000 * kMs);
    const DeviceBusy busy = made.busy();
    REQUIRE(busy.windows.size() == 1);
    CHECK(busy.windows[0].span == Interval{4000 * kMs, 5000 * kMs});
    CHECK(busy.windows[0].busy_ns == 200 * kMs);
    CHECK(busy.windows[0].operations == 1);
}

}  // namespace

TEST_CASE("spans whose rows are gone are those of summarised, since the second schema", "[gone]") {
    Made made;
    made.gone(5, 7);
    made.gone(1, 3);
    CHECK(dropped_spans(made.inputs().traces[0]) == Intervals{{1, 3}, {5, 7}});
    made.run("UPDATE meta SET value = 2 WHERE key = 'started_mono_ns'");
    CHECK(dropped_spans(made.inputs().traces[0]) == Intervals{{2, 3}, {5, 7}});
    made.run("PRAGMA user_version = 1; DROP TABLE summarised");
    CHECK(dropped_spans(made.inputs().traces[0]).empty());
}

//  s          0    1    2    3    4    5    6    7    8
//  rows       all       ┊gone┊    all
//  calls      L──sync   ┊ ?  ┊    [sync]
//  may be     ├────┤    ├──────────────┤                    1 + 3 s of 8
TEST_CASE("work from a span without rows may run until something behind it tells", "[busy][gone]") {
    Made made;
    made.launch(0, 4000);
    made.sync(500 * kMs, 1000 * kMs);
    made.gone(2000 * kMs, 3000 * kMs);
    made.ends(8000 * kMs);
    CHECK(made.busy().may_be_busy_ns == 1000 * kMs);  // nothing was asked for in it, as the totals say
    made.total(0, 1);
    made.total(2, 1);
    SECTION("nothing does") { CHECK(made.busy().may_be_busy_ns == 7000 * kMs); }
    SECTION("a wait that began behind it") {
        made.sync(4000 * kMs, 5000 * kMs);
        const DeviceBusy busy = made.busy();
        CHECK(busy.may_be_busy_ns == 4000 * kMs);
        CHECK(busy.without_us().high == Approx(0.5));
        CHECK(busy.without_us().low == 0);
        CHECK(!busy.without_us().share);
    }
    SECTION("a wait that may have begun before it was asked for") {
        made.sync(2500 * kMs, 5000 * kMs);
        CHECK(made.busy().may_be_busy_ns == 7000 * kMs);
    }
    SECTION("an operation with device times behind it") {
        made.timed(4000 * kMs, 4001 * kMs, 4500 * kMs, 5000 * kMs, 3);
        CHECK(made.busy().may_be_busy_ns == 4000 * kMs);
        CHECK(made.busy().as_it_ran().low == 0);  // in no window
    }
}

//  s          0    1    2    3    4    5    6
//  stream 1        ┊    ?    ┊    ██                 over when its next operation begins, at 4 s
//  stream 2        ┊    ?    ┊                       nobody says
TEST_CASE("what the totals do not know the stream of may be in any", "[busy][gone]") {
    Made made(2);
    made.gone(1000 * kMs, 3000 * kMs);
    made.timed(3500 * kMs, 3501 * kMs, 4000 * kMs, 4100 * kMs, 3);
    made.ends(6000 * kMs);
    made.total(2, 1);
    CHECK(made.busy().may_be_busy_ns == 2100 * kMs);  // from the first second in which it was given something
    made.total(1, 0);
    CHECK(made.busy().may_be_busy_ns == 5000 * kMs);
}

//  s          0    1    2    3    4    5    6    7    8
//  rows                 ┊  gone   ┊
//  windows         |────|  |──|        |────|              the second is left out
//  stream            ██ ┊    ?    ┊ sync  █                0.2 and 0.1 s
TEST_CASE("a window whose rows are gone is left out, the others count", "[busy][gone]") {
    Made made;
    made.timed(1100 * kMs, 1101 * kMs, 1200 * kMs, 1400 * kMs, 3);
    made.window(1000 * kMs, 2000 * kMs, 1, 1);
    made.gone(2000 * kMs, 4000 * kMs);
    for (const int second : {1, 2, 3, 5}) made.total(second, 1);
    made.window(2500 * kMs, 3000 * kMs, 5, 5);
    made.sync(4200 * kMs, 4500 * kMs);
    made.timed(5100 * kMs, 5101 * kMs, 5500 * kMs, 5600 * kMs, 3);
    made.window(5000 * kMs, 6000 * kMs, 1, 1);
    made.ends(8000 * kMs);
    const DeviceBusy busy = made.busy();
    REQUIRE(busy.windows.size() == 2);
    CHECK(busy.windows[0].span == Interval{1000 * kMs, 2000 * kMs});
    CHECK(busy.windows[1].span == Interval{5000 * kMs, 6000 * kMs});
    CHECK(busy.windows[0].operations == 1);
    CHECK(busy.windows[0].high_ns == 200 * kMs);
    CHECK(busy.windows[1].low_ns == 100 * kMs);
    CHECK(busy.windows[1].high_ns == 100 * kMs);
    CHECK(*busy.coverage() == 1);
    CHECK(busy.level() == "events");
    CHECK(busy.as_it_ran().low == Approx(0.3 / 8));
    CHECK(busy.may_be_busy_ns == 2800 * kMs);            // 0.2, 2.5 and 0.1 s
    CHECK(busy.rest_high() == Approx(2.5 / 6));          // of 8 s less the two windows
    CHECK(*busy.without_us().share == Approx(1.3 / 8));  // 0.2 of the first 5 s, 0.1 of the last 3
}

//  s          0    1    2    3    4    5    6
//  rows            ┊  gone   ┊
//  window                    |─────────|
//  stream          ┊    ?    ┊ ??? ██                  what is still running there is not known: from 4 s on
TEST_CASE("a window behind a span without rows begins where its work is over", "[busy][gone]") {
    Made made;
    check_from_4_s(made, 3000 * kMs, 1);
}

//  s          0    1    2    3    4    5    6
//  rows            ┊  gone   ┊
//  window               |────┊─────────|               what is left of it is as the one above
//  stream          ┊    ?    ┊ ??? ██
TEST_CASE("of a window of which a part is gone the rest counts", "[busy][gone]") {
    Made made;
    check_from_4_s(made, 2000 * kMs, 3);
    made.run("UPDATE \"window\" SET slot = NULL");  // a sum of several: where they were is not known
    CHECK(made.busy().windows.empty());
}

//  s          0    1    2    3    4    5
//  rows            ┊  gone   ┊
//  window     |────|                                   its last operation is over 0.5 s later,
//  stream     ??? ███████                              which is known as far as the rows are
TEST_CASE("a window in front of a span without rows ends where they do", "[busy][gone]") {
    Made made;
    made.launch(0, 4000);
    made.timed(200 * kMs, 201 * kMs, 800 * kMs, 1500 * kMs, 3);
    made.window(100 * kMs, 1000 * kMs, 1, 1);
    made.gone(1000 * kMs, 3000 * kMs);
    made.total(0, 1);
    made.total(1, 1);
    made.sync(4000 * kMs, 4500 * kMs);
    made.ends(5000 * kMs);
    const DeviceBusy busy = made.busy();
    REQUIRE(busy.windows.size() == 1);
    CHECK(busy.windows[0].span == Interval{800 * kMs, 1500 * kMs});
    // In another stream work may begin at once.
    Made two(2);
    two.launch(0, 4000);
    two.timed(200 * kMs, 201 * kMs, 800 * kMs, 1500 * kMs, 3);
    two.window(100 * kMs, 1000 * kMs, 1, 1);
    two.gone(1000 * kMs, 3000 * kMs);
    two.total(1, 2);
    two.ends(5000 * kMs);
    REQUIRE(two.busy().windows.size() == 1);
    CHECK(two.busy().windows[0].span == Interval{100 * kMs, 1000 * kMs});
}

TEST_CASE("a run in which the rows of all windows were removed says so", "[busy][gone]") {
    Made made;
    made.window(1500 * kMs, 2000 * kMs, 5, 5);
    made.total(1, 1);
    made.gone(1000 * kMs, 3000 * kMs);
    made.ends(2000 * kMs);
    const DeviceBusy busy = made.busy();
    CHECK(busy.level() == "host");
    CHECK(busy.why() == "the rows of all windows were removed");
    CHECK(busy.run == Interval{0, 3000 * kMs});
}

//  s          0    1    2    3    4    5    6    7    8
//  rows                 ┊  gone   ┊
//  windows    |────|      |───────────|               0.3 and 0.4 s in one row, of device 1 the 0.4
TEST_CASE("rows of windows that are sums count as what they are", "[trust][gone]") {
    Made made;
    made.run(
        "INSERT INTO \"window\" VALUES (0, 0, 1000000000, 1, 1, 10, 9, 0, 0),"
        " (0, 1, 1000000000, 1, 1, 10, 9, 0, 0), (2200000000, 0, 700000000, NULL, 2, 20, 20, 3, 0),"
        " (2600000000, 1, 400000000, NULL, 1, 10, 10, 2, 0)");
    made.gone(2000 * kMs, 4000 * kMs);
    made.launch(100, 200);
    made.ends(8000 * kMs);
    const Report report = report_of(made.inputs());
    CHECK(line_of(report, "waited in their queue") ==
          "        0 waited in their queue: measured; 0 did not: estimated, with bounds; 1 have host times "
          "only (of the");
    CHECK(line_of(report, "that were kept)") == "          rows that were kept)");
    CHECK(report.json.text().find("\"legacy_events\": 3") != std::string::npos);
    CHECK(report.json.text().find("\"rows_gone\": true") != std::string::npos);
}

TEST_CASE("ranges are said to be those whose rows are left", "[ranges][gone]") {
    Made made;
    made.run(
        "INSERT INTO name VALUES (1, 'forward', NULL), (2, 'epoch', NULL);"
        " INSERT INTO marker (enter_ns, thread_id, kind, name_id, value, dur_ns, flags) VALUES"
        " (5000, 1, 'pop', 1, 1, 4000, 0), (6000, 1, 'push', 2, 1, NULL, 0)");
    made.ends(8000 * kMs);
    CHECK(line_of(report_of(made.inputs()), "epoch").find("open") != std::string::npos);
    CHECK(line_of(report_of(made.inputs()), "only ranges whose rows were kept").empty());
    made.gone(2000 * kMs, 4000 * kMs);
    CHECK(line_of(report_of(made.inputs()), "epoch").find("open") == std::string::npos);
    CHECK(!line_of(report_of(made.inputs()), "only ranges whose rows were kept").empty());
}

}  // namespace dropped_spans_test
