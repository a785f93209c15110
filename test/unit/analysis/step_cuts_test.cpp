// Known spans cut at steps, and unions by segment; and which time and steps a run is told by.
#include "analysis/run/pass/step_cuts.h"

#include "analysis/process/temporary.h"
#include "analysis/run/pass/make_facts.h"
#include "analysis/run/pass/trace_pass.h"
#include "analysis/run/sql/run_db.h"
#include "made_trace.h"

#include <catch2/catch.hpp>
#include <random>
#include <string>

namespace step_cuts_test {

using namespace gpushim::analysis;

namespace {

std::string text(const std::vector<Segment>& segments) {
    std::string all;
    for (const Segment& segment : segments)
        all += std::to_string(segment.step) + ":" + std::to_string(segment.from_ns) + "-" +
               std::to_string(segment.until_ns) + " ";
    return all;
}

}  // namespace

//  known   |10                    100|
//  steps  5────20 20──30 30─50  70─80  90────120
TEST_CASE("a known span is cut where whole steps begin and end", "[step_cuts]") {
    const WholeStep steps[] = {{0, {5, 20}}, {1, {20, 30}}, {2, {30, 50}}, {3, {70, 80}}, {4, {90, 120}}};
    const auto segments = cut_at_steps({10, 100}, steps);
    CHECK(text(segments) == "-1:10-20 1:20-30 2:30-50 -1:50-70 3:70-80 -1:80-100 ");
    CHECK(boundaries_of(segments) == std::vector<int64_t>{20, 30, 50, 70, 80});
    CHECK(cut_at_steps({10, 10}, steps).empty());
    CHECK(text(cut_at_steps({20, 50}, steps)) == "1:20-30 2:30-50 ");
    SegmentCursor cursor(segments);
    CHECK(cursor.at(5) == 6);
    CHECK(cursor.at(10) == 0);
    CHECK(cursor.at(29) == 1);
    CHECK(cursor.at(99) == 5);
    CHECK(cursor.at(100) == 6);
}

TEST_CASE("unions by segment are those of the spans in any near order", "[step_cuts][random]") {
    std::mt19937_64 random(11);
    const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
    std::vector<WholeStep> steps;
    for (int32_t i = 0; i < 100; ++i) steps.push_back({i, {700 * i + 50, 700 * i + 50 + 200 + below(450)}});
    const auto segments = cut_at_steps({30, 69'000}, steps);
    UnionBySegment sums(segments);
    std::vector<Interval> all;
    for (int64_t t = 0; t < 70'000; t += below(12)) {
        const int64_t start = t + below(below(9) == 0 ? 1000 : 30);
        all.push_back({start, start - 1 + below(20)});
        sums.add(all.back().start_ns, all.back().end_ns);
    }
    const Intervals united = unite(all);
    const auto& ns = sums.finish();
    for (size_t i = 0; i < segments.size(); ++i)
        REQUIRE(ns[i] == length_ns(clip(united, {segments[i].from_ns, segments[i].until_ns})));
}

TEST_CASE("a span that comes too late counts where nothing is settled", "[step_cuts]") {
    const auto segments = cut_at_steps({0, 100'000}, {});
    UnionBySegment sums(segments);
    for (int64_t t = 0; t < 600; ++t) sums.add(100 * t, 100 * t + 10);
    sums.add(0, 59'910);  // the first 256 are settled, up to 25,510
    CHECK(sums.finish()[0] == 256 * 10 + 59'910 - 25'510);
}

namespace {

using namespace made;

constexpr int64_t kUs = 1000;

int64_t of_run(const Made& made, const char* sql) {
    int64_t next_gpu = 0;
    TraceFacts facts = make_facts(made.inputs().traces[0], 0, next_gpu, {});
    find_steps(facts);
    const TemporaryFolder folder;
    RunDb run(folder.path() / "run.db");
    pass_over(facts, {}, run);
    Query row(run.raw(), "run", sql);
    return row.step() ? row.number(0) : -1;
}

}  // namespace

// Steps of 100 us from 200 us on, the last of them without an end, and windows that are shorter.
//
//  us      0      100     200     300     400     500     600     700
//  marks                   |       |       |       |       |       |
//  windows   |─────|           |─|                              |─────|
//  counts                      |─|                              |──|
TEST_CASE("of windows only what they have of steps counts", "[step_cuts]") {
    Made made = marked_steps();
    made.run("DELETE FROM \"window\"");
    for (const char* table : {"marker", "launch", "launch_device"})
        for (const char* by : {"+ 1000200000", "- 1000000000"})  // no two are at one time meanwhile
            made.run("UPDATE " + std::string(table) + " SET enter_ns = enter_ns " + by);
    made.window(20 * kUs, 90 * kUs, 0, 0);
    made.window(230 * kUs, 250 * kUs, 0, 0);
    made.window(680 * kUs, 760 * kUs, 0, 0);
    made.ends(800 * kUs);
    const char* const kRest = "SELECT window_ns FROM gpu_step WHERE step = -1";
    CHECK(of_run(made, kRest) == 40 * kUs);
    // What the last step launched is over at 750.
    made.timed(690 * kUs, 694 * kUs, 695 * kUs, 750 * kUs, 3);
    CHECK(of_run(made, kRest) == 90 * kUs);
    // Warm-up from 20 us on, whole in a window: a row of its own.
    made.run("UPDATE marker SET enter_ns = 20000 WHERE enter_ns = 200000");
    made.window(10 * kUs, 310 * kUs, 1, 1);
    CHECK(of_run(made, "SELECT window_ns FROM gpu_step WHERE step = 0") == 280 * kUs);
}

// Steps take 100 and 180 us in turn, and each has its kernel.
TEST_CASE("steps that are longer than all are on average tell nothing of all", "[step_cuts]") {
    const auto are_unlike = [](int64_t from_us, int64_t until_us) {
        Made made = marked_steps();
        for (const char* table : {"\"window\"", "marker", "launch", "launch_device"})
            made.run("DELETE FROM " + std::string(table));
        for (int64_t i = 0; i < 20; ++i) {
            const int64_t at_ns = (i / 2 * 280 + i % 2 * 100) * kUs;
            mark_step(made, at_ns);
            made.timed(at_ns + 10 * kUs, at_ns + 14 * kUs, at_ns + 18 * kUs, at_ns + 60 * kUs, 3);
        }
        made.window(from_us * kUs, until_us * kUs, 2, 2);
        made.ends(5000 * kUs);
        REQUIRE(of_run(made, "SELECT count(*) FROM gpu_step WHERE step >= 0") > 0);
        return of_run(made, "SELECT count(*) FROM unlike_steps") != 0;
    };
    CHECK(are_unlike(370, 650));        // one of 180 us, and most of one of 100
    CHECK_FALSE(are_unlike(370, 570));  // what windows hold is that step
    CHECK_FALSE(are_unlike(270, 850));  // two of each
    CHECK(are_unlike(420, 670));        // one of 100 us, and most of one of 180
}

}  // namespace step_cuts_test
