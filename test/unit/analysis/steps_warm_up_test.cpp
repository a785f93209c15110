// Which steps are warm-up: those that compile, and slow ones after them. Letters as in steps_test.
#include "analysis/step/steps.h"

#include "analysis/step/cut.h"

#include <catch2/catch.hpp>

#include "step_tokens.h"

namespace steps_warm_up_test {

using namespace gpushim::analysis;

namespace {

Steps detected(const MadeRun& run) { return find_steps(run.source(), {}); }

}  // namespace

TEST_CASE("steps that compile, and the slow ones after them, are warm-up", "[step]") {
    //  L        │ slow: 130 ns │ 80 ns │ 80 ns ...     the limit is 1.5 x 80 = 120
    MadeRun run;
    std::vector<int64_t> truth = {run.play("haLLbLcLos")};
    truth.push_back(run.play("habbcos      "));
    for (const int64_t begin : run.repeat("habbcos ", 20)) truth.push_back(begin);
    run.play("habbcos      ");
    run.repeat("habbcos ", 5);
    const Steps found = detected(run);
    INFO(found.why);
    REQUIRE(found.steps.size() == 28);
    CHECK(found.steps[0].begin_ns == truth[0]);
    CHECK(found.steps[0].is_warm_up);
    CHECK(found.steps[0].signature != found.steps[1].signature);
    CHECK(found.steps[1].is_warm_up);
    CHECK_FALSE(found.steps[2].is_warm_up);
    CHECK_FALSE(found.steps[22].is_warm_up);  // slow, but no longer leading
}

TEST_CASE("where all steps compile none is warm-up", "[step]") {
    std::vector<Step> steps(2);
    for (Step& step : steps) step.has_load = true;
    steps[0].end_ns = steps[1].begin_ns = 100;
    steps[1].end_ns = 180;
    mark_warm_up(steps);
    CHECK_FALSE(steps[0].is_warm_up);
    CHECK_FALSE(steps[1].is_warm_up);
    steps.push_back({180, 260, 2, 0, {}});
    mark_warm_up(steps);
    CHECK(steps[0].is_warm_up);
    CHECK(steps[1].is_warm_up);
    CHECK_FALSE(steps[2].is_warm_up);
}

TEST_CASE("a solver whose problem shrinks warms nothing up", "[step]") {
    const auto warm_up = [](const char* first) {
        MadeRun run;
        run.play(first);
        for (int i = 0; i < 100; ++i) run.play("habbcos " + std::string(static_cast<size_t>(100 - i), ' '));
        const Steps found = detected(run);
        REQUIRE(found.source == "detected");
        return std::count_if(found.steps.begin(), found.steps.end(),
                             [](const Step& step) { return step.is_warm_up; });
    };
    CHECK(warm_up("") == 0);
    CHECK(warm_up("habbcLs ") == 1);  // what loads code does
}

TEST_CASE("many slow steps are warm-up where the others are alike", "[step]") {
    const std::string slow = "habbcos " + std::string(32, ' '), usual = "habbcos   ";
    MadeRun run;
    run.repeat(slow.c_str(), 6);
    SECTION("one behind the other") { run.repeat(slow.c_str(), 9); }
    SECTION("one of them loads code") {
        run.play(("habbcLs " + std::string(5000, ' ')).c_str());
        run.repeat(slow.c_str(), 8);
    }
    run.repeat(usual.c_str(), 85);
    const Steps found = detected(run);
    REQUIRE(found.source == "detected");
    CHECK(std::count_if(found.steps.begin(), found.steps.end(),
                        [](const Step& step) { return step.is_warm_up; }) == 15);
}

TEST_CASE("a step just within 1.5 times the usual is not warm-up", "[step]") {
    MadeRun run;
    run.play("habbcos     ");  // 120 ns
    run.repeat("habbcos ", 20);
    CHECK_FALSE(detected(run).steps.at(0).is_warm_up);
}

}  // namespace steps_warm_up_test
