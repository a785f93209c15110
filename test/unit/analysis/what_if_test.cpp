// A step without something: the gap list, played again.
#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <vector>

#include "run_rows.h"

namespace what_if_test {

using namespace made;

namespace {

constexpr const char* kSomeCauses[] = {"input_cpu", "sync", "launch_call", "launch_latency", "host_cpu"};

// GPUs of a job, in steps that differ.
RunRows any_job(std::mt19937& random, int64_t gpus, int64_t steps) {
    const auto up_to = [&](int64_t most) { return std::uniform_int_distribution<int64_t>(0, most)(random); };
    RunRows run;
    for (int64_t gpu = 0; gpu < gpus; ++gpu) {
        run.rank(gpu);
        for (int64_t step = 0; step < steps; ++step) {
            StepOf is = {.ran = {{kCompute, 1 + up_to(9) * kMs}, {kWaiting, up_to(3) * kMs}}};
            for (const char* cause : kSomeCauses)
                if (up_to(1) == 1) is.idle[cause] = 1 + up_to(4 * kMs);
            is.pieces = 1 + up_to(40);
            run.step(gpu, step, is);
        }
    }
    return run;
}

bool is_in_order(const Gain& gain, double step_ns) {
    return 0 <= gain.low_ns && gain.low_ns <= gain.high_ns && gain.high_ns <= step_ns * (1 + 1e-9);
}

}  // namespace

//  GPU 0   ██ compute 6 ██ input 10 ██ | ██ compute 4 ███████████████     GPUs of one process take turns
//  GPU 1   ██ compute 4 ███████████████| ██ compute 6 ██ input 10 ██
TEST_CASE("idle time is of the busiest GPU of a process, whichever that is in a step", "[what_if]") {
    RunRows run;
    run.process(0).gpu(0, 0).gpu(1, 0);
    for (int64_t step = 0; step < 2; ++step) {
        run.step(step, step, {.ran = {{kCompute, 6 * kMs}}, .idle = {{"input_cpu", 10 * kMs}}});
        run.step(1 - step, step, {.ran = {{kCompute, 4 * kMs}}, .idle = {{"sync", 12 * kMs}}});
    }
    const CountedSteps basis(run.raw());
    const WhatIf what_if(basis);
    CHECK(what_if.idle_ns({"input_cpu"}) == Approx(10e6));
    CHECK(what_if.without({"input_cpu"}).high_ns == Approx(10e6));
    CHECK(what_if.idle_ns({"sync"}) == 0);
}

//  host    launches 1, 2, 3, 4 |        waits        |      what it launched in four steps runs in the last
//  GPU     █                                █████████
TEST_CASE("what kernels gain in a mean step is where they ran", "[what_if]") {
    RunRows run;
    run.rank(0);
    for (int64_t step = 0; step < 4; ++step)
        run.step(0, step, {.ran = {{kCompute, step == 3 ? 37 * kMs : kMs}, {kWaiting, kMs}}});
    const CountedSteps basis(run.raw());
    const WhatIf what_if(basis);
    CHECK(what_if.shorter({{0, {2e6, 6e6}}}).high_ns == Approx(6e6));
    CHECK(what_if.shorter({{0, {2e6, 6e6}}}).low_ns == Approx(2e6));
    CHECK(what_if.shorter({{1, {2e6, 6e6}}}).high_ns == 0);
}

//  GPU 0   ██ compute 6 ██ input 10 ██ wwww        own 16
//  GPU 1   ██ compute 14 █████████████ input 6     own 20: it decides
TEST_CASE("the GPU with the longest own work decides, and a gain goes no further than the next one",
          "[what_if]") {
    RunRows run;
    run.rank(0).rank(1);
    run.steps(0, {.ran = {{kCompute, 6 * kMs}, {kWaiting, 4 * kMs}}, .idle = {{"input_cpu", 10 * kMs}}});
    run.steps(1, {.ran = {{kCompute, 14 * kMs}}, .idle = {{"input_cpu", 6 * kMs}}});
    const CountedSteps basis(run.raw());
    const WhatIf what_if(basis);
    CHECK(what_if.has_steps());
    CHECK(what_if.steps() == RunRows::kSteps);
    CHECK(what_if.step_ns() == Approx(20e6));
    CHECK(what_if.idle_ns({"input_cpu"}) == Approx(10e6));
    // Both lose their input: 6 and 14 are left. Low: a launch's latency of 8 us stays in each gap.
    CHECK(what_if.without({"input_cpu"}).high_ns == Approx(6e6));
    CHECK(what_if.without({"input_cpu"}).low_ns == Approx(6e6 - 8e3));
    CHECK(what_if.without({"sync"}).high_ns == 0);
    // Only GPU 1 becomes shorter: GPU 0's 16 decide then. Only GPU 0: nothing is gained.
    CHECK(what_if.shorter({{1, {1e6, 9e6}}}).low_ns == Approx(1e6));
    CHECK(what_if.shorter({{1, {1e6, 9e6}}}).high_ns == Approx(4e6));
    CHECK(what_if.shorter({{0, {9e6, 9e6}}}).high_ns == 0);
}

//  step     1    2    3        GPU 1 was timed in step 2 only
//  GPU 0    ██   ██   ██
//  GPU 1         ████
TEST_CASE("only steps that all GPUs have say how long a step is", "[what_if]") {
    RunRows run;
    run.rank(0).rank(1);
    run.steps(0, {.ran = {{kCompute, 4 * kMs}}, .idle = {{"sync", 4 * kMs}}}, 3);
    run.step(1, 1, {.ran = {{kCompute, 16 * kMs}}});
    const CountedSteps basis(run.raw());
    const WhatIf what_if(basis);
    CHECK(what_if.steps() == 1);
    CHECK(what_if.step_ns() == Approx(16e6));
    CHECK(what_if.without({"sync"}).high_ns == 0);
}

//  step     1   2   3   6   7   8      profiles of two processes, from other steps
//  GPU 0    ██  ██  ██
//  GPU 1                ██  ██  ██
TEST_CASE("of ranks without a common step each has its own", "[what_if]") {
    RunRows run;
    run.rank(0).rank(1);
    for (int64_t step = 0; step < 3; ++step) {
        run.step(0, step, {.ran = {{kCompute, 4 * kMs}}, .idle = {{"sync", 6 * kMs}}});
        run.step(1, 5 + step, {.ran = {{kCompute, 4 * kMs}}, .idle = {{"sync", 6 * kMs}}});
    }
    const CountedSteps basis(run.raw());
    const WhatIf what_if(basis);
    CHECK(what_if.step_ns() == Approx(10e6));
    CHECK(what_if.idle_ns({"sync"}) == Approx(6e6));
    CHECK(what_if.without({"sync"}).high_ns == Approx(6e6));
}

//  step     1   2   3  …  20       a checkpoint is written in the last: 200 ms of waits and of other work
TEST_CASE("what one step has and others have not is not usual", "[what_if]") {
    RunRows run;
    run.rank(0);
    for (int64_t step = 0; step < 20; ++step)
        run.step(0, step,
                 {.ran = {{kCompute, 18 * kMs}}, .idle = {{"host_cpu", step == 19 ? 200 * kMs : kMs}}});
    run.change("UPDATE gap SET drained_by_sync_ns = ns");
    const CountedSteps basis(run.raw());
    const WhatIf what_if(basis);
    CHECK(what_if.usual_ns({"host_cpu"}) == Approx(1e6));
    CHECK(what_if.usual_drained_ns({"host_cpu"}) == Approx(1e6));
    CHECK(what_if.without({"host_cpu"}).high_ns == Approx((19 + 200) * 1e6 / 20));
    // Four times the usual are the most that may be.
    CHECK(what_if.without_drained({"host_cpu"}).high_ns == Approx((19 + 4) * 1e6 / 20));
    CHECK(what_if.without_usual({"host_cpu"}, WhatIf::Left::kLatency).high_ns == Approx((19 + 4) * 1e6 / 20));
}

// Spans of 100 ms, which tell shares; a step takes 40.
TEST_CASE("where no step was timed as a whole a gain is of a mean one", "[what_if]") {
    RunRows run;
    run.rank(0).steps(0, {.ran = {{kCompute, 75 * kMs}}, .idle = {{"sync", 25 * kMs}}});
    const CountedSteps steps(run.raw());
    WhatIf timed(steps);
    timed.take_as_steps_of(40e6);
    CHECK(timed.step_ns() == Approx(100e6));
    run.change("INSERT INTO unlike_steps VALUES (0); UPDATE step SET dur_ns = 40000000");
    const CountedSteps spans(run.raw());
    WhatIf what_if(spans);
    CHECK(what_if.step_ns() == Approx(1e9));
    what_if.take_as_steps_of(40e6);
    CHECK_FALSE(what_if.has_steps());
    CHECK(what_if.step_ns() == Approx(40e6));
    CHECK(what_if.without({"sync"}).high_ns == Approx(10e6));
    CHECK(what_if.idle_ns({"sync"}) == Approx(10e6));
    CHECK(what_if.shorter({{0, {1e6, 3e6}}}).high_ns == Approx(3e6));
    CHECK(Situation(run.raw()).step_ns() == Approx(40e6));
    CHECK(Situation(run.raw()).per() == "step");
}

// As damaged traces tell them: together they are more than a whole number can be.
TEST_CASE("a mean step of centuries is one, too", "[what_if]") {
    RunRows run;
    for (int64_t rank = 0; rank < 4; ++rank) run.rank(rank).step(rank, 0, {.ran = {{kCompute, kMs}}});
    run.change(
        "INSERT INTO unlike_steps SELECT gpu_id FROM gpu; UPDATE step SET dur_ns = 3000000000000000000");
    CHECK(Situation(run.raw()).step_ns() == Approx(3e18));
}

//  rank 0   |10|10 and 20 alone     |10|         a step of 20 in the mean of each
//  rank 1   |10|10|10 and 20 waiting   |
TEST_CASE("what a rank does and what the others wait for it then are one time", "[what_if]") {
    RunRows run;
    run.rank(0).rank(1);
    for (int64_t step = 0; step < 2; ++step) {
        run.step(0, step, {.ran = {{kCompute, step == 0 ? 30 * kMs : 10 * kMs}}});
        run.step(1, step, {.ran = {{kCompute, 10 * kMs}, {kWaiting, step == 0 ? 0 : 20 * kMs}}});
    }
    const CountedSteps basis(run.raw());
    const WhatIf what_if(basis);
    CHECK(what_if.step_ns() == Approx(20e6));
    CHECK(what_if.shorter({{0, {20e6, 20e6}}}).high_ns == Approx(10e6));
}

TEST_CASE("where there are no steps a gain is of a second", "[what_if]") {
    RunRows run;
    run.rank(0, "none");
    run.steps(0, {.ran = {{kCompute, 75 * kMs}}, .idle = {{"sync", 25 * kMs}}});
    const CountedSteps basis(run.raw());
    const WhatIf what_if(basis);
    CHECK(!what_if.has_steps());
    CHECK(what_if.step_ns() == Approx(1e9));
    CHECK(what_if.without({"sync"}).high_ns == Approx(0.25e9));
    CHECK(what_if.shorter({{0, {0, 0.1e9}}}).high_ns == Approx(0.1e9));
}

TEST_CASE("a run of which nothing was timed has no gains", "[what_if]") {
    RunRows run;
    run.rank(0);
    const CountedSteps basis(run.raw());
    const WhatIf what_if(basis);
    CHECK(what_if.steps() == 0);
    CHECK(what_if.step_ns() == 0);
    CHECK(what_if.without({"sync"}).high_ns == 0);
}

// Numbers of steps that follow each other, that are far apart, and as far as can be; more steps than one
// thread is given. Of each the longest decides, whatever it is numbered.
TEST_CASE("of however many steps, and however they are numbered, each counts once", "[what_if]") {
    const std::string number = GENERATE("step", "-step * 2", "step * 1000003 - 9000000000",
                                        "iif(step % 2 = 0, 1 - step, 9223372036854775807 - step)");
    constexpr int64_t kMany = 40'000;
    RunRows run;
    run.rank(0).rank(1);
    run.change(
        "CREATE TEMP TABLE n AS WITH RECURSIVE n(step) AS (SELECT 0 UNION ALL SELECT step + 1 FROM n WHERE"
        " step < " +
        std::to_string(kMany - 1) +
        ") SELECT step FROM n; CREATE TEMP TABLE of (gpu_id); INSERT INTO of VALUES (0), (1);"
        "INSERT INTO step (rank_id, step, number, begin_ns, dur_ns, warm_up, left_out)"
        " SELECT gpu_id, step, " +
        number +
        ", step * 1000, 1000, 0, 0 FROM n, of;"
        "INSERT INTO gpu_step (gpu_id, step, window_ns, busy_low_ns, busy_high_ns, busy_likely_low_ns,"
        " busy_likely_high_ns) SELECT gpu_id, step, 1000, 600, 600, 600, 600 FROM n, of;"
        "INSERT INTO activity SELECT gpu_id, step, 0, 400 FROM n, of;"
        "INSERT INTO activity SELECT gpu_id, step, 1, 600 FROM n, of");
    const CountedSteps basis(run.raw());
    const WhatIf what_if(basis);
    REQUIRE(what_if.steps() == kMany);
    // In each step of two GPUs one loses more, and the other one decides: a sum of whole numbers.
    const auto less_ns = [](const GpuInStep& gpu) {
        return static_cast<double>((gpu.step * 7 + gpu.gpu_id * 3) % 11);
    };
    double sum_ns = 0, sum_of_first_ns = 0;
    for (int64_t step = 0; step < kMany; ++step) {
        const auto of = [&](int64_t gpu) { return less_ns(*basis.find(gpu, step)); };
        sum_ns += std::min(of(0), of(1));
        sum_of_first_ns += of(0);
    }
    const Gain gain = what_if.shorter([&](const GpuInStep& gpu) { return Gain{less_ns(gpu), less_ns(gpu)}; });
    CHECK(gain.high_ns == Approx(sum_ns / kMany));
    CHECK(gain.low_ns == gain.high_ns);
    CHECK(what_if.mean_ns([&](const GpuInStep& gpu) { return gpu.gpu_id == 0 ? less_ns(gpu) : 0; }) ==
          Approx(sum_of_first_ns / kMany));
    // One by one in the order of their numbers, and of all what is of each.
    const std::vector<double> all_ns = what_if.of_each(less_ns);
    size_t at = 0, wrong = 0;
    int64_t last = INT64_MIN;
    what_if.each([&](const GpuInStep& gpu) {
        wrong += gpu.number < last || all_ns[at] != less_ns(gpu);
        last = gpu.number;
        ++at;
    });
    CHECK(at == 2 * kMany);
    CHECK(wrong == 0);
}

TEST_CASE("taking something out never makes a step longer, and more of it never makes it less short",
          "[what_if][random]") {
    std::mt19937 random(20260);
    for (int round = 0; round < 60; ++round) {
        const RunRows run = any_job(random, 1 + round % 4, 5);
        const CountedSteps basis(run.raw());
        const WhatIf what_if(basis);
        const double step_ns = what_if.step_ns();
        INFO("round " << round);
        REQUIRE(step_ns > 0);
        for (const char* one : kSomeCauses) {
            const Gain alone = what_if.without({one});
            CHECK(is_in_order(alone, step_ns));
            CHECK(alone.high_ns <= what_if.idle_ns({one}) * (round % 4 + 1) + 1);
            for (const char* other : kSomeCauses) {
                const Gain both = what_if.without({one, other});
                CHECK(is_in_order(both, step_ns));
                CHECK(both.high_ns >= alone.high_ns - 1e-3);
                CHECK(both.low_ns >= alone.low_ns - 1e-3);
            }
        }
        const Gain all = what_if.shorter([](const GpuInStep& gpu) {
            return Gain{gpu.own_ns() / 2, gpu.own_ns()};
        });
        CHECK(is_in_order(all, step_ns));
        CHECK(all.low_ns == Approx(all.high_ns / 2));
    }
}

}  // namespace what_if_test
