// Steps that are told by how parameters are updated: gradients come from a thread of the framework's own.
#include <algorithm>
#include <catch2/catch.hpp>

#include "step_tokens.h"

using namespace gpushim::analysis;

namespace {

int64_t evaluations(const Steps& found) {
    return std::count_if(found.steps.begin(), found.steps.end(), trains_nothing);
}

MadeRun with_two_threads() {
    MadeRun run;
    run.gradients_thread = 1;
    return run;
}

}  // namespace

TEST_CASE("an optimizer that goes through the parameters one by one is part of a step", "[step][update]") {
    const std::string by_parameter = "uvowuvowuvowuvowuvowuvowuvowuvow";
    MadeRun run = with_two_threads(), one_thread;
    for (MadeRun* of : {&run, &one_thread}) of->repeat("hklmBBn" + by_parameter + "s", 60);
    const Steps found = find_steps(run.source(), {});
    REQUIRE(found.source == "detected");
    CHECK(found.steps.size() == 60);
    CHECK(evaluations(found) == 0);
    // There an update may be of one layer, and of many in a step.
    CHECK(find_steps(one_thread.source(), {}).source == "none");
}

TEST_CASE("an evaluation every few steps, that no copy begins, leaves the steps", "[step][update]") {
    MadeRun run = with_two_threads();
    std::vector<int64_t> steps;
    for (int i = 0; i < 200; ++i) {
        steps.push_back(run.play("klmnklmnBCBCBCBCouos"));
        if (i % 5 == 4 && i < 199) run.play("klmnklmnes");
    }
    const Steps found = find_steps(run.source(), {});
    REQUIRE(found.source == "detected");
    CHECK(evaluations(found) == 39);
    std::vector<int64_t> counted;
    for (const Step& step : found.steps)
        if (!trains_nothing(step)) counted.push_back(step.begin_ns);
    CHECK(counted == steps);
}

TEST_CASE("an evaluation that ends in no sync of its own is part of a step", "[step][update]") {
    MadeRun run = with_two_threads();
    for (int i = 0; i < 200; ++i) {
        run.play("klmnklmnBCBCBCBCouos");
        if (i % 5 == 4 && i < 199) run.play("kl");
    }
    const Steps found = find_steps(run.source(), {});
    REQUIRE(found.source == "detected");
    CHECK(found.steps.size() == 200);
}

TEST_CASE("moves of a player are no steps, rounds of moves and training are", "[step][update]") {
    MadeRun run = with_two_threads();
    std::vector<int64_t> rounds;
    for (int i = 0; i < 25; ++i) {
        rounds.push_back(run.play("r"));
        run.repeat("hklmnes", 40);
        run.play("v");
        run.repeat("klmBBos", 8);
    }
    const Steps found = find_steps(run.source(), {});
    REQUIRE(found.source == "detected");
    CHECK(found.steps.size() >= 24);
    CHECK(found.steps.size() <= 25);
}

TEST_CASE("an optimizer within backward makes no step of each layer", "[step][update]") {
    MadeRun run = with_two_threads();
    for (int i = 0; i < 60; ++i) {
        run.play("hkkkkkkkkkkkkl");
        for (int layer = 0; layer < 12; ++layer) {
            run.play("Bm");
            run.play("o");
            run.tokens.back().thread = 1;
        }
        run.play("s");
    }
    const Steps found = find_steps(run.source(), {});
    CHECK((found.source == "none" || found.steps.size() == 60));
}
