// The rule about copies from the device that nothing hides.
#include <catch2/catch.hpp>

#include <string>

#include "run_rows.h"

namespace rule_copies_out_test {

using namespace made;

namespace {

constexpr int64_t kSteps = RunRows::kSteps;
constexpr int64_t kStepNs = 20 * kMs;

RunRows& add_copies(RunRows& run, int64_t bytes, int64_t ns, int64_t steps, int64_t position = -1) {
    return run.add("copy_stat", {{"gpu_id", int64_t{0}},
                                 {"stream_id", int64_t{1}},
                                 {"kind", "d2h"},
                                 {"source", "device"},
                                 {"target", "pinned"},
                                 {"blocking", int64_t{0}},
                                 {"position", position},
                                 {"bytes_each", bytes},
                                 {"max_bytes", bytes},
                                 {"count", steps},
                                 {"bytes", bytes * steps},
                                 {"steps", steps},
                                 {"timed", steps},
                                 {"sum_ns", ns * steps},
                                 {"blocks_kernels_ns", ns * steps}});
}

RunRows in_each_step(int64_t ns, int64_t bytes = 10'000'000) {
    RunRows run;
    run.rank(0).steps(0, {.ran = {{kCompute, kStepNs - ns}, {kD2h, ns}}});
    return std::move(add_copies(run, bytes, ns, kSteps, 0));
}

// 40 ms of step 8, beside so much of each.
RunRows in_one_step(int64_t usual_ns) {
    RunRows run;
    run.rank(0);
    for (int64_t step = 0; step < kSteps; ++step)
        run.step(0, step, {.ran = {{kCompute, kStepNs}, {kD2h, usual_ns + (step == 8 ? 40 * kMs : 0)}}});
    return std::move(add_copies(run, 1'000'000'000, 40 * kMs, 1));
}

}  // namespace

TEST_CASE("copies from the device that nothing hides come on with their time", "[rule][copies_out]") {
    CHECK(is_ramped("copies_out", [](double share) {
        return in_each_step(static_cast<int64_t>(share * static_cast<double>(kStepNs)));
    }));
    const Finding found = in_each_step(2 * kMs).look("copies_out").value();
    CHECK(found.gain.high_ns == Approx(2 * kMs));
    CHECK(found.gain.low_ns == Approx(0.6 * kMs));
    CHECK(found.title ==
          "copies from the device take 2.00 ms of a step, in which nothing else runs on the GPU");
    CHECK_FALSE(found.in_some_steps);
}

TEST_CASE("small copies from the device, and those outside of steps, are not what takes the time",
          "[rule][copies_out]") {
    RunRows losses = in_each_step(2 * kMs, 4);  // for which the host waits
    CHECK_FALSE(losses.look("copies_out").has_value());
    add_copies(losses, 1'000'000'000, 40 * kMs, 1);  // the model, at the end
    losses.change("UPDATE copy_stat SET steps = 0 WHERE steps = 1");
    CHECK_FALSE(losses.look("copies_out").has_value());
    add_copies(losses, 10'000'000, 2 * kMs, kSteps);  // as much again in large ones
    losses.change("DELETE FROM copy_stat WHERE steps = 0");
    CHECK(losses.look("copies_out")->gain.high_ns == Approx(1 * kMs));
}

TEST_CASE("a checkpoint is in the steps that have it", "[rule][copies_out]") {
    const Finding found = in_one_step(0).look("copies_out").value();
    CHECK(found.in_some_steps);
    CHECK(found.gain.high_ns == Approx(40 * kMs / 20.0));
    CHECK(found.title.find("most of it in 1 of 20 steps; the longest, 40.0 ms, in step 8") !=
          std::string::npos);
}

TEST_CASE("what comes back in each step beside others is not counted twice", "[rule][copies_out]") {
    const auto beside_others = [](RunRows run) {
        for (int64_t position = 1; position <= 3; ++position)
            add_copies(run, 1'000'000, 100 * kUs, kSteps, position);
        return run;
    };
    CHECK(beside_others(in_each_step(2 * kMs)).look("repeated_copies").has_value());
    CHECK_FALSE(beside_others(in_each_step(2 * kMs)).look("copies_out").has_value());
    const Finding found = beside_others(in_one_step(kMs)).look("copies_out").value();
    CHECK(found.gain.high_ns == Approx(40 * kMs / 20.0));
    CHECK(found.title.find("of a step more than is usual") != std::string::npos);
}

}  // namespace rule_copies_out_test
