// A step without something: the gap list, played again.
#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

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

namespace {

// Two ranks of 20,000 steps, of which the program numbers one in so many: as many as are summed up on several
// processors.
constexpr int64_t kMany = 20'000;
int64_t idle_in(int64_t rank, int64_t step) { return 1000 + (step * 7919 + rank * 31) % 977; }

RunRows of_many_steps(int64_t apart) {
    RunRows run;
    run.rank(0).rank(1);
    const std::string steps = "WITH RECURSIVE n(s) AS (SELECT 0 UNION ALL SELECT s + 1 FROM n WHERE s < " +
                              std::to_string(kMany - 1) + ") INSERT INTO ";
    for (const int64_t rank : {0, 1}) {
        const std::string id = std::to_string(rank);
        const std::string idle = "1000 + (s * 7919 + " + std::to_string(rank * 31) + ") % 977";
        run.change(
            steps + "step (rank_id, step, number, begin_ns, dur_ns, warm_up, left_out) SELECT " + id +
            ", s, s * " + std::to_string(apart) + ", s * 9000, 9000, 0, 0 FROM n;" + steps +
            "gpu_step (gpu_id, step, window_ns, operations) SELECT " + id + ", s, 9000, 1 FROM n;" + steps +
            "activity SELECT " + id + ", s, 1, 5000 FROM n;" + steps + "activity SELECT " + id + ", s, 0, " +
            idle + " FROM n;" + steps +
            "gap (gpu_id, step, cause, blocked_on, ns, pieces, longest_ns, drained_by_sync_ns) SELECT " + id +
            ", s, 'sync', '', " + idle + ", 1, 1, 0 FROM n;");
    }
    return run;
}

}  // namespace

TEST_CASE("steps that are summed up on several processors are as on one", "[what_if]") {
    const int64_t apart = GENERATE(1, 1'000'000);
    const RunRows run = of_many_steps(apart);
    const CountedSteps basis(run.raw());
    const WhatIf what_if(basis);
    REQUIRE(what_if.steps() == kMany);
    double sums[2] = {}, gone = 0;
    std::vector<double> all;
    for (int64_t step = 0; step < kMany; ++step) {
        for (const int64_t rank : {0, 1}) {
            sums[rank] += static_cast<double>(idle_in(rank, step));
            all.push_back(static_cast<double>(idle_in(rank, step)));
        }
        gone += static_cast<double>(std::max(idle_in(0, step), idle_in(1, step)));
    }
    std::vector<int64_t> numbers;
    what_if.each([&](const GpuInStep& gpu) { numbers.push_back(gpu.number * 2 + gpu.rank_id); });
    REQUIRE(numbers.size() == 2 * kMany);
    CHECK(std::is_sorted(numbers.begin(), numbers.end()));
    CHECK(numbers.back() == (kMany - 1) * apart * 2 + 1);
    CHECK(what_if.of_each([](const GpuInStep& gpu) { return gpu.idle_ns({"sync"}); }) == all);
    CHECK(what_if.idle_ns({"sync"}) == Approx(std::max(sums[0], sums[1]) / kMany));
    // The rank that takes longer in a step becomes as short as both without.
    CHECK(what_if.shorter([](const GpuInStep& gpu) { return without_idle(gpu, gpu.idle_ns({"sync"})); })
              .high_ns == Approx(gone / kMany));
    std::sort(all.begin(), all.end());
    CHECK(what_if.usual_ns({"sync"}) == all[all.size() / 2]);
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
