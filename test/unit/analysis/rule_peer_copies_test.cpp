// The rule about copies between GPUs that nothing hides, and what others say of them.
#include <catch2/catch.hpp>

#include <string>

#include "run_rows.h"

namespace rule_peer_copies_test {

using namespace made;

namespace {

constexpr int64_t kStepNs = 20 * kMs, kSteps = RunRows::kSteps;

RunRows& add_copies(RunRows& run, const char* kind, int64_t gpu_id, int64_t ns, int64_t position,
                    int64_t steps = kSteps) {
    constexpr int64_t kBytes = 100'000'000;
    return run.add("copy_stat", {{"gpu_id", gpu_id},
                                 {"stream_id", int64_t{1}},
                                 {"kind", kind},
                                 {"source", "device"},
                                 {"target", "device"},
                                 {"blocking", int64_t{0}},
                                 {"position", position},
                                 {"bytes_each", kBytes},
                                 {"max_bytes", kBytes},
                                 {"count", steps},
                                 {"bytes", kBytes * steps},
                                 {"steps", steps},
                                 {"timed", steps},
                                 {"timed_bytes", kBytes * steps},
                                 {"sum_ns", ns * steps},
                                 {"blocks_kernels_ns", ns * steps}});
}

// The second GPU copies from the first for so long, and then computes; the first computes for so long.
RunRows two_stages(int64_t ns, int64_t first_ns = kStepNs / 2) {
    RunRows run;
    run.process(0).gpu(0, 0).gpu(1, 0);
    run.steps(0, {.ran = {{kCompute, first_ns}}, .idle = {{"wait_other_gpu", kStepNs - first_ns}}});
    run.steps(1, {.ran = {{kCompute, kStepNs - ns}, {kP2p, ns}}});
    return std::move(add_copies(run, "p2p", 1, ns, 0));
}

}  // namespace

TEST_CASE("copies between GPUs that nothing hides come on with their time", "[rule][peer_copies]") {
    CHECK(is_ramped("peer_copies", [](double share) {
        return two_stages(static_cast<int64_t>(share * static_cast<double>(kStepNs)));
    }));
    const Finding found = two_stages(2 * kMs).look("peer_copies").value();
    CHECK(found.gain.high_ns == Approx(2 * kMs));
    CHECK(found.gain.low_ns == Approx(0.6 * kMs));
    CHECK(found.title ==
          "copies between GPUs take 2.00 ms of a step, in which nothing else runs on the GPU; 100 MB in 1 "
          "copy, at 50.0 GB/s");
    CHECK_FALSE(found.in_some_steps);
}

TEST_CASE("hiding copies makes no step shorter than what another GPU has to do", "[rule][peer_copies]") {
    const Finding found = two_stages(2 * kMs, 19 * kMs).look("peer_copies").value();
    CHECK(found.gain.high_ns == Approx(1 * kMs));
    CHECK(found.title.find("take 2.00 ms of a step") != std::string::npos);
    CHECK_FALSE(two_stages(2 * kMs, kStepNs).look("peer_copies").has_value());
}

TEST_CASE("copies between GPUs outside of steps, and hidden ones, are not what takes the time",
          "[rule][peer_copies]") {
    RunRows hidden = two_stages(0);
    add_copies(hidden, "p2p", 1, 2 * kMs, 1);
    CHECK_FALSE(hidden.look("peer_copies").has_value());
    RunRows at_start = two_stages(2 * kMs);
    at_start.change("UPDATE copy_stat SET steps = 0");
    CHECK_FALSE(at_start.look("peer_copies").has_value());
}

TEST_CASE("what copies between GPUs take is no other copies' time", "[rule][peer_copies]") {
    RunRows run = two_stages(2 * kMs);
    for (int64_t position = 0; position < 3; ++position) add_copies(run, "h2d", 1, 0, position);
    CHECK(run.said() == "peer_copies");
}

}  // namespace rule_peer_copies_test
