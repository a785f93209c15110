// Loops of which the start, or what the host looks at, is cut into pieces that are no steps (step_tokens.h).
#include <catch2/catch.hpp>

#include "analysis/step/steps.h"
#include "step_tokens.h"

namespace steps_of_part_test {

using namespace gpushim::analysis;

namespace {

Steps detected(const MadeRun& run) { return find_steps(run.source(), {}); }

}  // namespace

TEST_CASE("an optimizer that goes through the parameters one by one hides no step", "[step]") {
    for (const int parameters : {8, 32, 120}) {
        std::string step = "hMaMaMdMdMe";
        for (int i = 0; i < parameters; ++i) step += "pqrtuvo";
        MadeRun run;
        run.play("iii");
        const auto truth = run.repeat(step + "s", 40);
        const Steps found = detected(run);
        INFO(parameters << ": " << found.why);
        CHECK(begins(found) == truth);
    }
}

TEST_CASE("steps of which some have a model's work once more are steps", "[step]") {
    //  forward, backward | a look at each gradient | optimizer | in every fifth: accuracy
    const std::string forward = "MaMbMaMbMaMbMk", backward = "BMaBMbBMaBMbBMz", looks = "nsnsnsnsnsnsnsns";
    for (const int every : {3, 5}) {
        MadeRun run;
        std::vector<int64_t> truth;
        for (int i = 0; i < 60; ++i) {
            truth.push_back(run.play(forward + backward + looks + "oos"));
            if (i % every == 0) run.play(forward + "ys");
        }
        const Steps found = detected(run);
        INFO(every << ": " << found.why);
        CHECK(found.steps.size() == truth.size());
    }
}

TEST_CASE("what the anchor cuts of a start-up behind something like a step is left out", "[step]") {
    //  forward, backward, and the optimizer's state is filled | k k k k k | k a b d … | k a b d …
    MadeRun run;
    const std::string rest = "abdefijlmnpqrtuv";
    run.play("k" + rest);
    for (int i = 0; i < 9; ++i) run.play("kw");
    const int64_t first = run.play("k" + rest + "o");
    run.repeat("k" + rest + "o", 99);
    const Steps found = detected(run);
    INFO(found.why);
    REQUIRE(found.steps.size() == 100);
    CHECK(found.steps.front().begin_ns <= first + 10 * 17);
}

TEST_CASE("a look of the host in some steps makes no step of its own", "[step]") {
    //  k s a b … s b a … s a b … M o | … and every tenth time: s | k s a b …
    MadeRun run;
    const std::string layer = "ababbaababbabaababab";
    const std::string step = "ks" + layer + "s" + layer + "s" + layer + "MMMoo";
    for (int i = 0; i < 100; ++i) {
        run.play(step);
        if (i % 10 == 9) run.play("s");
    }
    const Steps found = detected(run);
    INFO(found.anchor << " " << found.why);
    CHECK(found.micro_steps == 3);
    CHECK(found.steps.size() == 100);
}

}  // namespace steps_of_part_test
