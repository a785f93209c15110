// Steps from what a run repeats and from marks, by hand: one letter is one token, 10 ns apart
// (step_tokens.h).
#include "analysis/step/steps.h"
#include "analysis/step/cut.h"

#include <catch2/catch.hpp>
#include <random>

#include "step_tokens.h"

namespace steps_test {

using namespace gpushim::analysis;

namespace {

Steps detected(const MadeRun& run) { return find_steps(run.source(), {}); }

}  // namespace

TEST_CASE("a training loop begins its steps at the input copy", "[step]") {
    //  i i i | h a b b c o s | h a b b c o s | ...     70 ns each, after 30 ns of start-up
    MadeRun run;
    run.play("iii");
    const auto truth = run.repeat("habbcos", 20);
    const Steps found = detected(run);
    INFO(found.why);
    CHECK(found.source == "detected");
    REQUIRE(begins(found) == truth);
    CHECK(found.micro_steps == 1);
    CHECK(found.confidence >= 0.9);
    CHECK(found.anchor_hash == 'h' * 1000);
    for (const Step& step : found.steps) CHECK(step.number == &step - found.steps.data());
    // 30 .. 100, 100 .. 170; the last: nothing begins where it ends
    CHECK(found.steps[0].end_ns == 100);
    CHECK(found.steps[18].signature == found.steps[0].signature);
    CHECK_FALSE(found.steps[18].is_left_out);
    CHECK(found.steps[19].is_left_out);
}

TEST_CASE("without an input, the operation after the sync begins a step", "[step]") {
    MadeRun run;
    const auto truth = run.repeat("abcds", 20);
    const Steps found = detected(run);
    CHECK(begins(found) == truth);
    CHECK(found.anchor == "the kernel that follows the sync");
}

TEST_CASE("one kernel over and over is refused, unless a sync or a copy cuts it", "[step]") {
    MadeRun bare, cut, fed;
    bare.repeat("k", 500);
    CHECK(detected(bare).source == "none");
    CHECK(detected(bare).why == "one operation repeats: no copy or sync shows where a step begins");
    cut.repeat("kkkks", 50);
    CHECK(detected(cut).steps.size() == 50);
    CHECK(begins(detected(fed)).empty());
    const auto truth = fed.repeat("hkkkk", 50);
    CHECK(begins(detected(fed)) == truth);
}

TEST_CASE("inference has steps by its inputs; a stream of anything has none", "[step]") {
    MadeRun inference, anything;
    const auto truth = inference.repeat("habababd  s   ", 30);
    CHECK(begins(detected(inference)) == truth);
    anything.play("qwertzuiopmnbvcxya");
    CHECK(detected(anything).source == "none");
    CHECK_FALSE(detected(anything).why.empty());
    CHECK(detected(MadeRun{}).source == "none");
}

TEST_CASE("layers are not steps", "[step]") {
    // 40 layers of l m n between an input and an optimizer: the layers explain 97 % of the launches
    MadeRun run;
    std::string step = "h";
    for (int i = 0; i < 40; ++i) step += "lmn";
    const auto truth = run.repeat(step + "oo", 20);
    CHECK(begins(detected(run)) == truth);

    // Neither input nor optimizer nor sync: layers and steps both fit.
    MadeRun bare;
    bare.repeat("x" + step.substr(1) + "yz", 20);
    CHECK(detected(bare).source == "none");
    CHECK(detected(bare).why.find("more than one period fits") == 0);
}

// Images of so many steps: each step a network of 24 layers and a value that the host reads.
std::vector<int64_t> sample_images(MadeRun& run, int steps_of_image, const std::string& behind = "") {
    std::string layers;
    for (int i = 0; i < 24; ++i) layers += "lmnt";
    std::vector<int64_t> begins;
    for (int image = 0; image < 12; ++image) {
        const int64_t begin_ns = run.play(image == 0 ? "" : "r");
        for (int i = 0; i < steps_of_image; ++i) {
            const int64_t own_ns = run.play("x" + layers + "yz" + behind);
            begins.push_back(i == 0 ? begin_ns : own_ns);
            run.copy('s', 2);
        }
        run.copy('s', 32'768);
    }
    return begins;
}

TEST_CASE("where nothing trains, a value that the host reads ends a step, whatever repeats within",
          "[step]") {
    for (const int steps_of_image : {4, 20, 50}) {
        MadeRun run;
        const auto truth = sample_images(run, steps_of_image);
        const Steps found = detected(run);
        INFO(steps_of_image << ": " << found.why);
        CHECK(begins(found) == truth);
        CHECK(found.why.starts_with(kByReads));
        CHECK(found.why.find(" stretches that are much alike lie in each") != std::string::npos);
        CHECK(found.confidence < 0.9);
    }
    // A wait reads nothing; and what trains may look at a loss every few steps.
    MadeRun waits, trains;
    sample_images(waits, 20);
    for (Token& token : waits.tokens) token.bytes = std::min(token.bytes, int64_t{0});
    CHECK(detected(waits).source == "none");
    sample_images(trains, 20, "B");
    CHECK(detected(trains).source == "none");
    // Nor is it known what a graph holds: it may be a step of a training that looks at its loss.
    MadeRun graphs;
    for (int step = 0; step < 400; ++step) {
        graphs.play("fg");
        if (step % 10 == 9) graphs.copy('s', 4);
    }
    CHECK(detected(graphs).source == "none");
}

TEST_CASE("what a program does every ten steps is no step", "[step]") {
    MadeRun run;
    std::vector<int64_t> truth;
    for (int i = 0; i < 100; ++i) {
        truth.push_back(run.play("habcdefgo"));
        if (i % 10 == 9) run.play("xs");
    }
    CHECK(begins(detected(run)) == truth);
}

TEST_CASE("a kernel more in every third step or so does not hide the period", "[step]") {
    MadeRun run;
    std::vector<int64_t> truth;
    std::mt19937_64 random(3);
    for (int i = 0; i < 60; ++i)
        truth.push_back(run.play(random() % 3 == 0 ? "habcdefijklmnox" : "habcdefijklmno"));
    const Steps found = detected(run);
    INFO(found.why);
    CHECK(begins(found) == truth);
}

TEST_CASE("steps that are done in several ways in turn are steps", "[step]") {
    //  x-sweep | y-sweep | x-sweep | …    of 19 kernels one is another; then three ways, and two
    MadeRun two, three, turned;
    std::vector<int64_t> truth_of_two, truth_of_three;
    for (int i = 0; i < 12; ++i)
        truth_of_two.push_back(two.play(i % 2 == 0 ? "habdefijklmnpqrtuvxs" : "habdefijklmnpqrtuvys"));
    const Steps found = detected(two);
    INFO(found.why);
    REQUIRE(begins(found) == truth_of_two);
    CHECK(found.micro_steps == 1);
    CHECK(found.confidence >= 0.8);
    CHECK(found.steps[2].signature == found.steps[4].signature);
    CHECK(found.steps[2].signature != found.steps[3].signature);
    for (int i = 0; i < 24; ++i)
        truth_of_three.push_back(three.play("habdefijklmnpqrtuv" + std::string(1, "xyz"[i % 3]) + "s"));
    CHECK(begins(detected(three)) == truth_of_three);
}

TEST_CASE("where every n-th stretch is longer, only an optimizer or a collective shows that it is a step",
          "[step]") {
    const std::string usual = "habdefijklmnpqrtuv", longer = usual + "xy";
    for (const int every : {2, 3, 5}) {
        INFO(every);
        MadeRun unknown, with_optimizers, with_collectives;
        std::vector<int64_t> truth, one_by_one;
        for (int i = 0; i < 60; ++i) {
            const std::string& one = i % every == every - 1 ? longer : usual;
            one_by_one.push_back(unknown.play(one + "s"));
            truth.push_back(with_optimizers.play(one + "o"));
            with_collectives.play(one + "c");
        }
        CHECK(begins(detected(unknown)) != one_by_one);
        CHECK(begins(detected(with_optimizers)) == truth);
        CHECK(begins(detected(with_collectives)) == truth);
    }
}

TEST_CASE("two halves of a step that have little in common are not two steps", "[step]") {
    MadeRun run;
    const auto truth = run.repeat("habdefijkxslmnpqrtuvwys", 30);
    const Steps found = detected(run);
    CHECK((found.source == "none" || begins(found) == truth));
}

TEST_CASE("shapes that change do not change the kind of step", "[step]") {
    //  grids and copies differ in every step; the names are the same
    MadeRun run;
    std::vector<int64_t> truth;
    for (int i = 0; i < 40; ++i) truth.push_back(run.play("habbco", 0, 1 + i * 7 % 40));
    const Steps found = detected(run);
    INFO(found.why);
    REQUIRE(begins(found) == truth);
    for (const Step& step : found.steps) CHECK(step.signature == found.steps[0].signature);
}

TEST_CASE("a graph's launch is a token", "[step]") {
    MadeRun run;
    const auto truth = run.repeat("hgs", 30);
    CHECK(begins(detected(run)) == truth);
}

TEST_CASE("an evaluation every ten steps has a signature of its own", "[step]") {
    MadeRun run;
    std::vector<int64_t> truth;
    for (int epoch = 0; epoch < 6; ++epoch) {
        for (const int64_t begin : run.repeat("habcddccos", 10)) truth.push_back(begin);
        for (const int64_t begin : run.repeat("habe", 4)) truth.push_back(begin);
    }
    const Steps found = detected(run);
    REQUIRE(begins(found) == truth);
    CHECK(found.steps[10].signature != found.steps[9].signature);
    CHECK(found.steps[10].signature == found.steps[13].signature);
    CHECK(found.steps[14].signature == found.steps[0].signature);
}

TEST_CASE("micro-steps are merged by the optimizer", "[step]") {
    //  P P P O | P P P O | ...      P: h a b d    O: h a b d o o
    MadeRun run;
    std::vector<int64_t> truth;
    for (int i = 0; i < 30; ++i) {
        truth.push_back(run.play("habdhabdhabdhabdoo"));
        if (i % 10 == 9)
            for (const int64_t begin : run.repeat("hae", 3)) truth.push_back(begin);
    }
    const Steps found = detected(run);
    INFO(found.why);
    CHECK(found.micro_steps == 4);
    REQUIRE(begins(found) == truth);
}

TEST_CASE("two micro-steps are merged by the collectives, where no optimizer is known", "[step]") {
    MadeRun run;
    const auto truth = run.repeat("habdddhabdddc", 30);
    const Steps found = detected(run);
    CHECK(found.micro_steps == 2);
    CHECK(begins(found) == truth);
}

TEST_CASE("an optimizer of many kernels is no period of its own", "[step]") {
    // Its kernels are much alike, and every twentieth step the host also looks.
    MadeRun run;
    std::vector<int64_t> truth;
    for (int i = 0; i < 8; ++i) {
        truth.push_back(run.play("habababddddhcxoooooooos"));
        for (const int64_t begin : run.repeat("habababddddhcxoooooooo", 19)) truth.push_back(begin);
    }
    const Steps found = detected(run);
    INFO(found.why);
    CHECK(begins(found) == truth);
}

TEST_CASE("a copy that occurs once in a step begins it, however many others there are", "[step]") {
    MadeRun run;
    run.play("h", 0, 7);
    run.play("ab");
    std::vector<int64_t> truth;
    for (int i = 0; i < 20; ++i) {
        truth.push_back(run.play("hababab"));
        for (int bucket = 0; bucket < 4; ++bucket) {
            run.play("dd");
            run.play("h", 0, 7);  // of another size
        }
        run.play("co");
    }
    const Steps found = detected(run);
    INFO(found.why);
    CHECK(found.micro_steps == 1);
    CHECK(begins(found) == truth);
}

TEST_CASE("an optimizer that is skipped ends its step all the same", "[step]") {
    MadeRun run;
    std::vector<int64_t> truth = run.repeat("habdhabdo", 20);
    truth.push_back(run.play("habdhabd"));
    for (const int64_t begin : run.repeat("habdhabdo", 20)) truth.push_back(begin);
    CHECK(begins(detected(run)) == truth);
}

TEST_CASE("a second copy within the step is not a second step", "[step]") {
    MadeRun run;
    std::vector<int64_t> truth;
    for (int i = 0; i < 30; ++i) {
        truth.push_back(run.play("habc", 0, 9));
        run.play("hdefg", 0, 1);
    }
    const Steps found = detected(run);
    REQUIRE(found.steps.size() == 30);
    // Either copy may be the step's; which comes first, the first says.
    CHECK(begins(found) == truth);
}

TEST_CASE("lanes that interleave as it happens are cut by the lead lane", "[step]") {
    //  lane 0    h a b c d e f o        lane 1  p q r s, each step somewhere else in between
    MadeRun run;
    std::vector<int64_t> truth;
    int owed = 0;
    std::mt19937_64 random(5);
    for (int i = 0; i < 60; ++i) {
        truth.push_back(run.now_ns);
        for (const char letter : std::string_view("habcdefo")) {
            run.play(std::string_view(&letter, 1));
            if (letter != 'h' && random() % 2 == 0) run.play(std::string_view(&"pqr"[owed++ % 3], 1), 1);
        }
    }
    const Steps found = detected(run);
    INFO(found.why);
    REQUIRE(begins(found) == truth);
    CHECK(found.steps[3].signature == found.steps[4].signature);
}

TEST_CASE("copies of weights before the first step are not a step", "[step]") {
    MadeRun run;
    run.play("hihihiii");
    const auto truth = run.repeat("habbcos", 20);
    CHECK(begins(detected(run)) == truth);
}

TEST_CASE("weights that go to the device layer by layer hide no step, however many they are", "[step]") {
    for (const int steps : {20, 60, 130}) {
        MadeRun run;
        for (int layer = 0; layer < 12; ++layer)
            for (const int64_t bytes : {1, 1, 2, 3, 4, 1, 1, 1, 5, 6, 5, 1}) run.play("h", 0, bytes);
        std::vector<int64_t> truth;
        for (int i = 0; i < steps; ++i) {
            truth.push_back(run.play("h", 0, 7));
            run.play("kabkabkabkdefijlmnpqrtuvs");
        }
        const Steps found = detected(run);
        INFO(steps << ": " << found.why);
        CHECK(begins(found) == truth);
    }
}

}  // namespace steps_test
