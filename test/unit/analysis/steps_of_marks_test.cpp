// Steps from marks and ranges, by hand: one letter is one token, 10 ns apart (step_tokens.h).
#include "analysis/step/steps.h"

#include <catch2/catch.hpp>

#include "step_tokens.h"

namespace steps_of_marks_test {

using namespace gpushim::analysis;

TEST_CASE("explicit marks win, carry samples, and say where detection disagrees", "[step]") {
    //  marks   |0            |1            |2 ...   each two of what repeats
    MadeRun run;
    Marks marks;
    const auto pieces = run.repeat("habbcos", 20);
    for (size_t i = 0; i < pieces.size(); i += 2) marks.explicit_steps.push_back({pieces[i] - 1, 32});
    marks.ranges = {{{0, 1400}, 7}};
    const Steps found = find_steps(run.source(), marks);
    CHECK(found.source == "gpushim_step");
    REQUIRE(found.steps.size() == 10);
    CHECK(found.steps[1].begin_ns == 139);
    CHECK(found.steps[1].end_ns == 279);
    CHECK(found.steps[1].samples == 32);
    CHECK(found.steps[1].signature == found.steps[2].signature);
    CHECK(found.steps[9].is_left_out);
    CHECK(found.disagrees_with_marks);
    CHECK(found.detected_count == 20);
    CHECK_FALSE(found.why.empty());
}

TEST_CASE("ranges keep their numbers; one step more or less is no disagreement", "[step]") {
    MadeRun run;
    Marks marks;
    const auto truth = run.repeat("habbcos", 20);
    for (size_t i = 0; i < 20; ++i) {
        marks.ranges.push_back({{truth[i], truth[i] + 65}, 100 + static_cast<int64_t>(i)});
        marks.ranges.push_back({{truth[i] + 10, truth[i] + 20}, 5});                             // nested
        marks.ranges.push_back({{truth[i] + 1, truth[i] + 66}, 100 + static_cast<int64_t>(i)});  // a thread's
    }
    marks.profiler = {{0, 100}, {200, 300}};
    Steps found = find_steps(run.source(), marks);
    CHECK(found.source == "ranges");
    REQUIRE(begins(found) == truth);
    CHECK(found.steps[3].number == 103);
    CHECK(found.steps[3].end_ns == 275);
    CHECK_FALSE(found.disagrees_with_marks);
    marks.ranges.erase(marks.ranges.begin(), marks.ranges.begin() + 30);
    CHECK_FALSE(find_steps(run.source(), marks).disagrees_with_marks);
}

TEST_CASE("a last range in which nothing is launched is the end of the loop, not a step", "[step]") {
    //  tokens   L b b c o   h b b c o   s
    //  ranges   |──1──────| |──2──────| |3|
    MadeRun run;
    Marks marks;
    run.play("Lbbco");
    run.play("hbbco");
    run.play("  s");
    marks.ranges = {{{0, 49}, 1}, {{50, 99}, 2}, {{100, 130}, 3}};
    CHECK(begins(find_steps(run.source(), marks)) == std::vector<int64_t>{0, 50});
    // Behind one step, too, which else would be the warm-up of nothing.
    marks.ranges = {{{0, 99}, 1}, {{100, 130}, 2}};
    const Steps one = find_steps(run.source(), marks);
    REQUIRE(one.steps.size() == 1);
    CHECK_FALSE(one.steps[0].is_warm_up);
    // Where no launches are known of any, and between steps, ranges stay.
    CHECK(find_steps(MadeRun{}.source(), marks).steps.size() == 2);
    marks.ranges = {{{0, 49}, 1}, {{101, 109}, 2}, {{50, 99}, 3}};
    run.play("bbco");
    marks.ranges.push_back({{125, 170}, 4});
    CHECK(find_steps(run.source(), marks).steps.size() == 4);
}

TEST_CASE("profiler ranges are steps where there are several, and a limit where there is one", "[step]") {
    MadeRun run;
    run.repeat("habbcos", 20);
    Marks marks;
    marks.profiler = {{0, 70}, {140, 210}};
    CHECK(find_steps(run.source(), marks).source == "profiler");
    CHECK(find_steps(run.source(), marks).steps.at(1).begin_ns == 140);
    marks.profiler = {{69, 280}};
    const Steps found = find_steps(run.source(), marks);
    CHECK(found.source == "detected");
    REQUIRE(found.steps.size() == 20);
    for (size_t i = 0; i < 20; ++i) CHECK(found.steps[i].is_left_out == (i < 1 || i > 3));
    CHECK(found.steps[0].why_left_out == "outside the profiler's range");
}

TEST_CASE("marks alone are steps, too", "[step]") {
    Marks marks;
    marks.explicit_steps = {{30, {}}, {10, {}}, {20, {}}};
    const Steps found = find_steps(MadeRun{}.source(), marks);
    REQUIRE(begins(found) == std::vector<int64_t>{10, 20, 30});
    CHECK(found.steps[2].end_ns == 30);
    CHECK_FALSE(found.detected_count);
}

}  // namespace steps_of_marks_test
