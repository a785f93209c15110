// Rules about GPUs of one process of which one waits for another.
#include <catch2/catch.hpp>

#include <string>

#include "work_run.h"

namespace rule_other_gpu_test {

using namespace made;

namespace {

constexpr int64_t kStepNs = kWorkStepNs;

//  GPU 0   ████████████████████
//  GPU 1   ████████████████····
RunRows first_does_more(int64_t more_ns) {
    RunRows run;
    run.process(0).gpu(0, 0).gpu(1, 0);
    run.steps(0, {.ran = {{kCompute, kStepNs}}});
    run.steps(1, {.ran = {{kCompute, kStepNs - more_ns}}, .idle = {{"wait_other_gpu", more_ns}}});
    run.add("first_gpu", {{"gpu_id", 0},
                          {"excess", static_cast<double>(more_ns) / static_cast<double>(kStepNs - more_ns)},
                          {"only_kernels", 1},
                          {"names", "softmax_loss"},
                          {"p2p_bytes", RunRows::kSteps * 60'000'000}});
    return run;
}

//  GPU 0   ████····████████████
//  GPU 1   ████████············
RunRows waiting(int64_t ns, const char* cause = "wait_other_gpu") {
    RunRows run;
    run.process(0).gpu(0, 0).gpu(1, 0);
    run.steps(0, {.ran = {{kCompute, kStepNs - ns}}, .idle = {{cause, ns}}});
    run.steps(1, {.ran = {{kCompute, kStepNs / 4}}, .idle = {{"sync_other_gpu", 3 * kStepNs / 4}}});
    return run;
}

}  // namespace

//  GPU 0   ████····████████████      a student, which waits for …
//  GPU 1   ████████············      … its teacher
TEST_CASE("a first GPU that waits for another one is not what others wait for", "[rule][rule_other_gpu]") {
    const auto that_waits = [](int64_t ns) {
        RunRows run = first_does_more(4 * kMs);
        const std::string length = std::to_string(ns);
        run.change(
            "INSERT INTO gap (gpu_id, step, cause, blocked_on, ns, pieces, longest_ns, longest_from_ns,"
            " drained_by_sync_ns) SELECT gpu_id, step, 'wait_other_gpu', '', " +
            length + ", 1, " + length + ", 0, 0 FROM gpu_step WHERE gpu_id = 0");
        return run;
    };
    CHECK(that_waits(kMs).look("first_gpu"));
    CHECK(!that_waits(2 * kMs).look("first_gpu"));
}

TEST_CASE("the GPU with most to do waits for another one", "[rule][rule_other_gpu]") {
    CHECK(waiting(4 * kMs).said() == "waits_for_gpu");
    const Finding found = waiting(4 * kMs).look("waits_for_gpu").value();
    CHECK(found.gain.high_ns == Approx(4 * kMs));
    CHECK(found.gain.low_ns == 0);
    CHECK(found.title == "the GPU with most to do waits 4.00 ms of a step for another GPU of its process");
    CHECK(is_ramped("waits_for_gpu", [](double share) { return waiting(of_step(share)); }));
}

TEST_CASE("what the GPU with least to do waits for costs nothing", "[rule][rule_other_gpu]") {
    CHECK(!waiting(4 * kMs, "host_cpu").look("waits_for_gpu"));
    RunRows least = waiting(4 * kMs, "host_cpu");
    least.change("UPDATE gap SET cause = 'wait_other_gpu' WHERE gpu_id = 1");
    CHECK(!least.look("waits_for_gpu"));
}

TEST_CASE("GPUs that work by turns do not wait for one another beside that", "[rule][rule_other_gpu]") {
    RunRows run = waiting(4 * kMs);
    for (int64_t step = 0; step < RunRows::kSteps; ++step)
        run.add("across", {{"step", step}, {"gpus", 2}, {"sequential_index", 0.9}});
    CHECK(!run.look("waits_for_gpu"));
}

}  // namespace rule_other_gpu_test
