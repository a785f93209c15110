// Loops that are a part of their run: behind a start-up that has most of the launches, with an optimizer that
// repeats more than they do, with looks of the host in some steps (step_tokens.h).
#include <catch2/catch.hpp>
#include <random>

#include "analysis/step/cut.h"
#include "analysis/step/ending.h"
#include "analysis/step/steps.h"
#include "repeats.h"
#include "step_tokens.h"

namespace steps_of_part_test {

using namespace gpushim::analysis;

namespace {

Steps detected(const MadeRun& run) { return find_steps(run.source(), {}); }

class StartUp {
  public:
    explicit StartUp(uint64_t seed) : random_(seed) {}

    // Weights that are copied, kernels that are tried one after the other, each some times.
    void play(MadeRun& run, int64_t launches) {
        static constexpr std::string_view kLetters = "abdefijklmnpqrtuvwxyz";
        for (int64_t played = 0; played < launches;) {
            const char letter = kLetters[below(kLetters.size())];
            const std::string one = below(4) == 0 ? "hs" : std::string(1, letter);
            const auto grid = static_cast<int64_t>(100 + below(50));
            const uint64_t times = 1 + below(9);
            for (uint64_t i = 0; i < times; ++i, ++played) run.play(one, 0, grid);
            if (below(3) == 0) run.play("s");
        }
    }

    uint64_t below(uint64_t n) { return random_() % n; }

  private:
    std::mt19937_64 random_;
};

}  // namespace

TEST_CASE("a graph's loop is found behind a warm-up of more launches", "[step]") {
    //  start-up | k l m n … o | four times | h g | h g | h g | …
    for (const int64_t launches : {300, 3000}) {
        MadeRun run;
        run.graph_runs = 400;
        StartUp start(7);
        start.play(run, launches);
        for (int i = 0; i < 4; ++i) {
            for (int layer = 0; layer < 50; ++layer) run.play("klmn");
            run.play("oo");
        }
        const auto truth = run.repeat("hg", 100);
        const Steps found = detected(run);
        INFO(launches << ": " << found.why);
        REQUIRE(begins(found) == truth);
        CHECK(found.confidence >= 0.9);
        CHECK(found.steps.front().number == 0);
        CHECK_FALSE(found.steps.front().is_warm_up);
    }
}

TEST_CASE("a loop that ran less than nine tenths of the run is not the run's", "[step]") {
    for (const int64_t runs : {1, 10, 400}) {
        MadeRun run;
        run.graph_runs = runs;
        StartUp start(7);
        start.play(run, 1500);
        run.repeat("hg", 100);
        CHECK((detected(run).source != "none") == (runs == 400));
    }
}

TEST_CASE("what comes before a loop does not hide it, however much it is", "[step]") {
    int exactly = 0, programs = repeats(100, 30);
    for (int seed = 1; seed <= programs; ++seed) {
        MadeRun run;
        StartUp start(static_cast<uint64_t>(seed));
        run.graph_runs = 400;
        const auto steps = static_cast<int>(30 + start.below(100));
        const std::string step = start.below(2) == 0 ? "hgKKo" : "hKg";
        start.play(run, static_cast<int64_t>(step.size()) * steps * static_cast<int64_t>(1 + start.below(6)));
        const auto truth = run.repeat(step, steps);
        const Steps found = detected(run);
        INFO("seed " << seed << ": " << found.anchor << " " << found.why);
        if (found.source == "none") continue;
        // A step's first copy may be told by what precedes it.
        const auto is_off = [&](const std::vector<int64_t>& begun) {
            return begun != truth && begun != std::vector<int64_t>(truth.begin() + 1, truth.end());
        };
        CHECK_FALSE(is_off(begins(found)));
        ++exactly;
    }
    CHECK(exactly >= programs * 9 / 10);
}

TEST_CASE("a loop behind a start-up needs twenty steps, each with a begin or an end", "[step]") {
    for (const int steps : {15, 40}) {
        MadeRun fed, bare;
        StartUp start(3), kernels(4);
        fed.graph_runs = 2000;
        start.play(fed, 2000);
        fed.repeat("hKKg", steps);
        CHECK(begins(detected(fed)).size() == (steps < 20 ? 0U : 40U));
        for (int i = 0; i < 2000; ++i) bare.play(std::string(1, static_cast<char>('a' + kernels.below(7))));
        bare.repeat("KUVZ", steps);  // layers, or whatever they are
        CHECK(detected(bare).source == "none");
    }
}

TEST_CASE("what a program does last is not what it does", "[step]") {
    //  training of many kinds of step | evaluation: h K U V
    MadeRun trained, looped;
    StartUp start(5);
    for (int i = 0; i < 30; ++i) {
        start.play(trained, 60);
        trained.play("oo");
    }
    trained.repeat("hKUV", 60);
    CHECK(detected(trained).source == "none");

    //  start-up | 40 longer steps | 60 short ones, which have less of the time
    start.play(looped, 900);
    looped.repeat("YZQbdefijklmnpqrt          s", 40);
    looped.repeat("hKUV", 60);
    CHECK(detected(looped).source == "none");
}

TEST_CASE("where it is undecided what a step is, the end of the run does not decide it", "[step]") {
    //  forward, backward, looks at gradients, optimizer | and in every fifth: forward, accuracy
    const std::string forward = "aabaababak", backward = "babbababbabz", looks = "nsnsnsnsnsnsnsns";
    MadeRun run;
    run.play("iijjs");
    for (int i = 0; i < 60; ++i) {
        run.play(forward + backward + looks + "oos");
        if (i % 5 == 0) run.play(forward + "ys");
    }
    const Steps found = detected(run);
    INFO(found.why);
    CHECK(found.source == "none");
}

TEST_CASE("a loop is not cut where its steps differ", "[step]") {
    //  a kernel more in the steps 4 and 9, and so in one of five: not decided, but no start-up
    for (const int every : {5, 7, 9}) {
        MadeRun run;
        for (int i = 0; i < 41; ++i)
            run.play(i == 4 || i == 4 + every ? "habdefijklmnpqrtuvx" : "habdefijklmnpqrtuv");
        const Steps found = detected(run);
        INFO(every << ": " << found.why);
        CHECK((found.source == "none" || found.steps.size() == 41));
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

// Each from behind one wait to behind the next; most hold the tokens of `step`.
Period from_wait_to_wait(const MadeRun& run, std::string_view step) {
    Period period;
    period.is_found = period.updates_tell = true;
    period.anchor.kind = KeyKind::after_sync;
    Keys keys;
    for (const Token& token : run.tokens)
        period.anchor.key =
            std::max(period.anchor.key, keys.of(token).key[static_cast<size_t>(KeyKind::after_sync)]);
    MadeRun typical;
    typical.play(step);
    for (const Token& token : typical.tokens) period.typical.add(token, {});
    return period;
}

//  a compiler tries some of a step's kernels many times, and waits behind each | a b d … o o o s | …
TEST_CASE("kernels that are tried before the loop are no steps, however many there are", "[step]") {
    const std::string work = "abdeBfijBlmnBpqBooo";
    MadeRun run;
    for (int tried = 0; tried < 6; ++tried) {
        for (int i = 0; i < 12; ++i) run.play("abdeBfijBlmnBpq");
        run.play("s");
        for (int i = 0; i < 3; ++i) run.play("wBs");
    }
    std::vector<int64_t> truth;
    for (int i = 0; i < 100; ++i) truth.push_back(run.play(work + "s"));
    std::vector<int64_t> begun;
    for (const Step& step : cut_at_anchor(run.source(), from_wait_to_wait(run, work)).steps)
        begun.push_back(step.begin_ns);
    CHECK(begun == truth);
}

TEST_CASE("two stretches that together hold what a step holds are one", "[step]") {
    const std::string work = "abdeBfijBlmnBpqBooo";
    MadeRun run;
    std::vector<int64_t> truth;
    for (int i = 0; i < 30; ++i) {
        // The warm-up is over: the host waits once more, in the middle of a step. Then it evaluates.
        truth.push_back(run.play(i == 11 ? "abdeBsfijBlmnBpqBooos" : work + "s"));
        if (i == 20) truth.push_back(run.play("abdes"));
    }
    std::vector<int64_t> begun;
    const std::vector<Step> steps = cut_at_anchor(run.source(), from_wait_to_wait(run, work)).steps;
    for (const Step& step : steps) begun.push_back(step.begin_ns);
    CHECK(begun == truth);
    CHECK(std::count_if(steps.begin(), steps.end(), trains_nothing) == 1);
    CHECK(steps[11].signature == steps[10].signature);
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

//  launches   0   10  20            100 105                    200
//             |===|===|   not       |=|=| …                 |=|
TEST_CASE("an ending begins behind what outweighs all before it", "[step]") {
    Ending ending;
    ending.add(0, 10, 1);
    ending.add(10, 20, 2);
    CHECK(ending.pieces() == 2);
    CHECK(ending.explained_share(20) == 1);
    CHECK(ending.explained_share(200) == Approx(0.1));
    for (int64_t i = 0; i < 20; ++i) ending.add(100 + 5 * i, 105 + 5 * i, 100 + i);
    CHECK(ending.from_ns() == 100);
    CHECK(ending.pieces() == 20);
    CHECK(ending.explained_share(200) == 1);
    CHECK(ending.explained_share(300) == Approx(0.5));
    ending.add(205, 210, 200);  // 5 launches between: less than a ninth of what there is
    CHECK(ending.from_ns() == 100);
    CHECK(ending.explained_share(210) == Approx(105.0 / 110));
}

}  // namespace steps_of_part_test
