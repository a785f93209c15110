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

// As many as a profile has, and too few for what may repeat by chance.
TEST_CASE("a few stretches are steps if each updates the parameters", "[step][update]") {
    const auto steps_of = [](MadeRun run, std::string_view step, int count) {
        run.repeat(step, count);
        return find_steps(run.source(), {});
    };
    const std::string update = "hklmnBqBrBos";
    CHECK(steps_of(with_two_threads(), update, 4).steps.size() == 4);
    CHECK(steps_of(with_two_threads(), update, 2).source == "none");
    CHECK(steps_of({}, update, 4).source == "none");
    CHECK(steps_of(with_two_threads(), "hklmns", 4).source == "none");
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

TEST_CASE("an evaluation before all training, or behind it, is no loop beside it", "[step][update]") {
    const auto of = [](int before, int behind, std::string_view step) {
        MadeRun run = with_two_threads();
        run.repeat("hklmns", before);
        std::vector<int64_t> steps = run.repeat(step, 60), counted;
        run.repeat("hklmns", behind);
        const Steps found = find_steps(run.source(), {});
        CHECK(found.source == "detected");
        for (const Step& one : found.steps)
            if (!trains_nothing(one) && !has_no_end(one)) counted.push_back(one.begin_ns);
        if (behind == 0) steps.pop_back();
        CHECK(counted == steps);
    };
    of(150, 0, "hklmnBqBrBos");
    of(150, 0, "hklmnBqBrBqBrBqBros");
    of(0, 150, "hklmnBqBrBos");
    of(30, 100, "hklmnBqBrBos");
}

TEST_CASE("what was trained for a moment is not what a program is for", "[step][update]") {
    MadeRun run = with_two_threads();
    run.repeat("hklmnBqBrBos", 8);
    run.repeat("hklmns", 2000);
    CHECK(find_steps(run.source(), {}).steps.size() == 2008);
}

TEST_CASE("a player moves before it is trained", "[step][update]") {
    const auto steps_of = [](int before, int moves, std::string_view training) {
        MadeRun run = with_two_threads();
        run.repeat("hklmnes", before);
        for (int i = 0; i < 100; ++i) {
            run.repeat("hklmnes", moves);
            run.play(training);
        }
        const Steps found = find_steps(run.source(), {});
        return found.source == "detected" ? found.steps.size() : 0;
    };
    CHECK(steps_of(200, 3, "hklmBBos") == 100);
    // A step is first like two moves, which are none.
    CHECK(steps_of(50, 2, "hklmBBos") == 100);
    CHECK(steps_of(200, 3, "pklmBBos") == 100);
}

// Two that compete: each step trains both, one after the other.
constexpr const char* kOfTwoModels = "hzykmnxvwBuBiBjorqvwBuBiBkBpo";

// The steps that count; all others trained nothing.
std::vector<int64_t> counted(const Steps& found) {
    std::vector<int64_t> steps;
    for (const Step& step : found.steps)
        if (!trains_nothing(step)) steps.push_back(step.begin_ns);
    return steps;
}

TEST_CASE("of a step that trains two models an evaluation is told by what it lacks, too", "[step][update]") {
    for (const char* const batch : {"hkmnvw", "hkmnvws"}) {
        MadeRun run = with_two_threads();
        std::vector<int64_t> steps;
        for (int i = 0; i < 100; ++i) {
            steps.push_back(run.play(kOfTwoModels));
            if (i == 49) run.repeat(batch, 40);
        }
        const Steps found = find_steps(run.source(), {});
        REQUIRE(found.source == "detected");
        CHECK(counted(found) == steps);
        CHECK(evaluations(found) == 40);
    }
}

TEST_CASE("five steps are no step because the fifth shows samples", "[step][update]") {
    MadeRun run = with_two_threads();
    std::vector<int64_t> steps;
    for (int i = 0; i < 100; ++i) {
        steps.push_back(run.play(kOfTwoModels));
        if (i % 5 == 4 && i < 99) run.play("zykmnzykmnzykmnzykmne");
    }
    const Steps found = find_steps(run.source(), {});
    REQUIRE(found.source == "detected");
    CHECK(counted(found) == steps);
}

// A critic learns from five batches, then the other once, from none.
TEST_CASE("of rounds of two models that learn unequally often no part is a step", "[step][update]") {
    for (const char* const look : {"", "s"}) {
        MadeRun run = with_two_threads();
        for (int i = 0; i < 100; ++i) {
            run.repeat(std::string("hzykmnBuBiBjo") + look, 5);
            run.play(std::string("zykmnBkBpo") + look);
        }
        const Steps found = find_steps(run.source(), {});
        CHECK((found.source == "none" || counted(found).size() <= 100));
    }
}

TEST_CASE("more evaluations than steps leave a training of two models its steps", "[step][update]") {
    for (const char* const batch : {"hkmnvw", "hkmnvws"})
        for (const int every : {10, 50}) {
            MadeRun run = with_two_threads();
            std::vector<int64_t> steps;
            for (int i = 0; i < 100; ++i) {
                steps.push_back(run.play(kOfTwoModels));
                if (i % every == every - 1 && i < 99) run.repeat(batch, 3 * every);
            }
            const Steps found = find_steps(run.source(), {});
            REQUIRE(found.source == "detected");
            CHECK(counted(found) == steps);
            CHECK(evaluations(found) == 3 * (100 - every));
        }
    // Most of the time then is the evaluations': what a step takes says little of such a run.
    MadeRun mostly = with_two_threads();
    for (int i = 0; i < 100; ++i) {
        mostly.play(kOfTwoModels);
        if (i % 10 == 9) mostly.repeat("hkmnvws", 60);
    }
    CHECK(find_steps(mostly.source(), {}).source == "none");
}

TEST_CASE("more evaluations than accumulated steps are left out, and count as evaluations",
          "[step][update]") {
    MadeRun run = with_two_threads();
    for (int i = 0; i < 60; ++i) {
        run.play("hklmnvBuBiBjps");
        run.play("hklmnvBuBiBjpooos");
        if (i % 10 == 9 && i < 59) run.repeat("hklmnvs", 40);
    }
    const Steps found = find_steps(run.source(), {});
    REQUIRE(found.source == "detected");
    CHECK(counted(found).size() == 60);
    CHECK(evaluations(found) == 200);
}

TEST_CASE("turns of two models of which one learns from the other's gradients are no steps",
          "[step][update]") {
    for (const int critics : {1, 2}) {
        MadeRun run = with_two_threads();
        for (int i = 0; i < 100; ++i) {
            run.repeat("hklmnBBo", critics);
            run.play("hklmnxyBBBBooo");
        }
        CHECK(counted(find_steps(run.source(), {})).size() <= 100);
    }
}

// Each round's tokens are written first, then it is learnt from them: moves are half of what the program
// does.
TEST_CASE("moves between a few updates are no evaluations", "[step][update]") {
    for (const int updates : {3, 8}) {
        MadeRun run = with_two_threads();
        for (int i = 0; i < 30; ++i) {
            run.repeat("hklmnes", 20);
            for (int update = 0; update < updates; ++update)
                run.play("hklmBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBos");
        }
        const Steps found = find_steps(run.source(), {});
        CHECK(counted(found).size() <= 30);
        CHECK(evaluations(found) == 0);
    }
}

// An actor learns at every second step of its critics; a move of the player comes before each, or none.
TEST_CASE("a model that learns at every second step of another one takes part in that", "[step][update]") {
    for (const char* const move : {"", "haes"})
        for (const char* const look : {"", "s"}) {
            MadeRun run = with_two_threads();
            for (int i = 0; i < 100; ++i) {
                run.play(move);
                run.play("hhhhklmnvwBuBiBjooo");
                if (i % 2 == 1) run.play("xyzBqBrooottt");
                run.play(look);
            }
            const Steps found = find_steps(run.source(), {});
            REQUIRE(found.source == "detected");
            CHECK(counted(found).size() >= 99);
            CHECK(counted(found).size() <= 100);
        }
}

TEST_CASE("two steps are no step because the second is followed by an evaluation", "[step][update]") {
    for (const int batches : {1, 2, 5, 20}) {
        MadeRun run = with_two_threads();
        for (int i = 0; i < 120; ++i) {
            run.play("hklmnBuBiBjBpos");
            if (i % 2 == 1) run.repeat("klmn", batches);
        }
        const Steps found = find_steps(run.source(), {});
        REQUIRE(found.source == "detected");
        CHECK(counted(found).size() >= 118);
        CHECK(counted(found).size() <= 120);
    }
}

TEST_CASE("evaluations between accumulated steps are no steps", "[step][update]") {
    for (const char* const look : {"", "s"})  // the loss of each micro-step is read, or not
        for (const char* const batch : {"hklmnv", "hklmnvs"}) {
            MadeRun run = with_two_threads();
            std::vector<int64_t> steps;
            for (int i = 0; i < 60; ++i) {
                steps.push_back(run.now_ns);
                run.repeat(std::string("hklmnvBuBiBjp") + look, 4);
                run.play("ooo");
                if (i % 10 == 9 && i < 59) run.repeat(batch, 30);
            }
            const Steps found = find_steps(run.source(), {});
            REQUIRE(found.source == "detected");
            CHECK(counted(found) == steps);
            CHECK(evaluations(found) == 150);
        }
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

//  forward of 40 kernels that does not learn, 2 of backward, the update; an evaluation is as long but for
//  these
TEST_CASE("an evaluation that has nearly all of a step is none where gradients tell", "[step][update]") {
    MadeRun run = with_two_threads();
    std::string forward = "h";
    for (int i = 0; i < 10; ++i) forward += "klmn";
    for (int i = 0; i < 200; ++i) {
        run.play(forward + "BBos");
        if (i % 40 == 39) run.repeat(forward + "s", 10);
    }
    const Steps found = find_steps(run.source(), {});
    REQUIRE(found.source == "detected");
    CHECK(evaluations(found) == 49);
}

//  thread   hklmBBo s … 10 times, then hklm s … 20 times      all in one thread, gradients by name
TEST_CASE("in one thread gradients tell a step from an evaluation, though most evaluate", "[step][update]") {
    const auto found_of = [](const char* step, const char* evaluation, int count) {
        MadeRun run;
        for (int i = 0; i < 20; ++i) {
            run.repeat(step, 10);
            run.repeat(evaluation, count);
        }
        return find_steps(run.source(), {});
    };
    const Steps found = found_of("hklmnBBBBBBBBBBos", "hklmns", 20);
    REQUIRE(found.source == "detected");
    CHECK(found.steps.size() == 600);
    CHECK(evaluations(found) == 399);  // of the last one nothing tells the end
    // They hold nearly all that a step holds, and are none.
    CHECK(evaluations(found_of("hklmnpqrtuvwyzBos", "hklmnpqrtuvwyzs", 8)) == 159);
    // Micro-steps have gradients, too.
    CHECK(evaluations(found_of("hklmnBBos", "hklmnBBs", 3)) == 0);
}

//  thread   hklmno s hklmno s … hklm s hklm s …      all in one thread
TEST_CASE("in one thread, too, a batch without an update is an evaluation", "[step][update]") {
    const auto found_of = [](const char* evaluation, int every, const char* step = "hklmnpqros") {
        MadeRun run;
        for (int i = 0; i < 200; ++i) {
            run.play(step);
            if (i % every == every - 1) run.repeat(evaluation, 10);
        }
        return find_steps(run.source(), {});
    };
    const Steps validated = found_of("hklms", 40);
    REQUIRE(validated.source == "detected");
    CHECK(validated.steps.size() == 250);
    CHECK(evaluations(validated) == 49);            // of the last one nothing tells the end
    CHECK(evaluations(found_of("hklms", 5)) == 0);  // most have no update: which are steps is not known
    // An update that was left out, because a loss overflowed, leaves a step.
    CHECK(evaluations(found_of("hklmnpqrs", 100)) == 0);
    CHECK(evaluations(found_of("hklms", 40, "hklmnpqrxs")) == 0);  // no optimizer is known
}
