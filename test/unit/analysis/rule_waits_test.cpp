// Rules about waits of the host for the GPU.
#include <catch2/catch.hpp>

#include <string>

#include "idle_run.h"

namespace rule_waits_test {

using namespace made;

namespace {

RunRows idle_share(const char* cause, double share) {
    return idle_run(cause, static_cast<int64_t>(share * static_cast<double>(kIdleStepNs)));
}

RunRows add_waits_of(const char* cause, double share) {
    RunRows run = idle_share(cause, share);
    return std::move(add_waits(run, false));
}

}  // namespace

TEST_CASE("a program without a framework that reads nothing is not told of metrics", "[rule][rule_waits]") {
    RunRows waits = idle_share("sync", 0.2);
    add_waits(waits, false);
    const Finding found = waits.look("sync_every_step").value();
    REQUIRE(found.heading != nullptr);
    CHECK(std::string(found.heading->change) == "launching on without waiting");
    CHECK(found.try_it.find("metrics") == std::string::npos);
    RunRows reads = idle_share("sync", 0.2);
    add_waits(reads, true);
    CHECK(reads.look("sync_every_step").value().heading == nullptr);
    // Where no step was timed a gain is of a second, and nobody knows how often that is.
    CHECK(reads.look("sync_every_step")->title.find("a wait for it in every step") != std::string::npos);
    reads.change(
        "UPDATE gpu_step SET step = -1 WHERE step = 0; DELETE FROM gpu_step WHERE step > 0;"
        " UPDATE gap SET step = -1 WHERE step = 0; UPDATE activity SET step = -1 WHERE step = 0");
    CHECK(reads.look("sync_every_step")->title.find("a wait for it again and again") != std::string::npos);
}

//  thread  ═wait for GPU 1═     GPU 0 has nothing to do, and would have none without the wait
TEST_CASE("where GPUs work in turns, waiting for another one is not what costs it", "[rule][rule_waits]") {
    const auto in_turns = [](double index) {
        RunRows run;
        run.process(0).gpu(0, 0).gpu(1, 0);
        run.steps(0, {.ran = {{kCompute, 11 * kMs}}, .idle = {{"sync_other_gpu", 9 * kMs}}});
        run.steps(1, {.ran = {{kCompute, 9 * kMs}}, .idle = {{"sync_other_gpu", 11 * kMs}}});
        for (int64_t step = 0; step < RunRows::kSteps; ++step)
            run.add("across", {{"step", step}, {"gpus", 2}, {"sequential_index", index}});
        return std::move(add_waits(run, false));
    };
    CHECK(in_turns(1.0).said() == "sequential_gpus");
    CHECK(in_turns(0.79).said() == "sync_every_step");
    CHECK(is_ramped("sync_every_step", [](double share) { return add_waits_of("sync_other_gpu", share); }));
}

TEST_CASE("a run without steps waits again and again if it does so often", "[rule][rule_waits]") {
    const auto found = [](bool reads, const char* change) {
        RunRows run;  // of 100 slices
        run.rank(0, "none").steps(0, {.ran = {{kCompute, 14 * kMs}}, .idle = {{"sync", 6 * kMs}}}, 100);
        add_waits(run, reads);
        run.add("launch_stat", {{"gpu_id", int64_t{0}}, {"stream_id", int64_t{1}}, {"count", int64_t{1000}}});
        run.change("UPDATE sync_stat SET in_steps = 0, calls = 400; UPDATE transfer_pattern SET count = 400");
        run.change(change);
        return run.look("sync_every_step");
    };
    const Finding reads = found(true, "").value();
    CHECK(std::string(reads.heading->title) == "Waiting for the GPU again and again");
    CHECK(reads.title.find("to the host and a wait for it again and again") != std::string::npos);
    CHECK(reads.try_it.find("100 steps") == std::string::npos);
    CHECK(found(false, "").value().title.find("the host waits for the GPU again") != std::string::npos);
    CHECK_FALSE(found(false, "UPDATE sync_stat SET calls = 19"));
    CHECK_FALSE(found(false, "UPDATE launch_stat SET count = 5000"));
    // Two looks among many other waits are not what it waits for.
    CHECK(found(true, "UPDATE transfer_pattern SET count = 2")->title.find("copy") == std::string::npos);
}

TEST_CASE("what the host does after reading a number is the reading's", "[rule][rule_waits]") {
    RunRows run = idle_run("host_cpu", 2 * kMs);
    run.change("UPDATE gap SET drained_by_sync_ns = ns");
    add_waits(run, true);
    CHECK(run.said() == "sync_every_step");
    CHECK(run.look("sync_every_step")->title.find("a copy of 4 B") != std::string::npos);
    CHECK(run.look("sync_every_step")->gain.high_ns == Approx(2 * kMs));
    RunRows other = idle_run("host_cpu", 2 * kMs);  // waits, but reads nothing
    other.change("UPDATE gap SET drained_by_sync_ns = ns");
    add_waits(other, false);
    CHECK(other.said() == "step_gap");
}

TEST_CASE("what is read many times in a step decides on what comes next", "[rule][rule_waits]") {
    const auto reading = [](int64_t times) {
        RunRows run = idle_run("sync", 2 * kMs);
        add_waits(run, true).change("UPDATE transfer_pattern SET count = " + std::to_string(times) +
                                    " * count, bytes = " + std::to_string(times) + " * bytes");
        return run.look("sync_every_step").value();
    };
    const Finding many = reading(20);
    CHECK(many.title.find("20 copies of 4 B to the host and a wait for each in every step") == 0);
    CHECK(std::string(many.heading->title) == "Waiting for the GPU many times in a step");
    CHECK(many.try_it.find("masks in place of branches") != std::string::npos);
    RunRows printed = idle_run("sync", 2 * kMs);  // in one step of many
    add_waits(printed, true).change("UPDATE transfer_pattern SET steps = 1");
    CHECK(printed.look("sync_every_step")->title.find("copy of") == std::string::npos);
    CHECK(reading(2).heading == nullptr);
    CHECK(reading(2).title.find("a copy of 4 B to the host and a wait for it in every step") == 0);
}

TEST_CASE("one reading among many other waits is not what they are for", "[rule][rule_waits]") {
    const auto waiting = [](int64_t times) {
        RunRows run = idle_run("host_cpu", 2 * kMs);
        run.change("UPDATE gap SET drained_by_sync_ns = ns");
        add_waits(run, true).change("UPDATE sync_stat SET after_small_d2h = calls, in_steps = in_steps * " +
                                    std::to_string(times));
        return run;
    };
    CHECK(waiting(4).said() == "sync_every_step");  // and three others
    CHECK(waiting(5).said() == "step_gap");
    RunRows for_each_gpu = waiting(5);
    for_each_gpu.add("gpu", {{"gpu_id", 1}, {"rank_id", 0}});
    CHECK(for_each_gpu.said() == "sync_every_step");
    RunRows pageable = waiting(5);  // a framework waits for each copy of a batch
    pageable.add("copy_stat", {{"gpu_id", 0},
                               {"stream_id", 1},
                               {"kind", "h2d"},
                               {"position", 0},
                               {"count", RunRows::kSteps},
                               {"steps", RunRows::kSteps}});
    CHECK(pageable.said() == "sync_every_step");
}

TEST_CASE("of a loss scale that is dynamic its own rule tells, of no other reading", "[rule][rule_waits]") {
    const auto said = [](const char* kernel, bool reads) {
        RunRows run = idle_run("sync", 2 * kMs);
        add_waits(run, reads).add("kernel", {{"gpu_id", 0}, {"name", kernel}});
        return run.said();
    };
    CHECK(said("void amp_update_scale_cuda_kernel(float*, int*, float const*)", true) ==
          "dynamic_loss_scale");
    CHECK(said("multi_tensor_apply_kernel<_amp_foreach_non_finite_check_and_unscale_cuda_>", true) ==
          "dynamic_loss_scale");
    CHECK(said("rescale", true) == "sync_every_step");
    CHECK(said("amp_update_scale_cuda_kernel", false) == "sync_every_step");  // it asks on the GPU
    CHECK(is_ramped("dynamic_loss_scale", [](double share) {
        RunRows run = idle_share("sync", share);
        add_waits(run, true).add("kernel", {{"gpu_id", 0}, {"name", "amp_update_scale"}});
        return run;
    }));
}

TEST_CASE("waits in few steps are not said", "[rule][rule_waits]") {
    RunRows run = idle_run("sync", 2 * kMs);
    add_waits(run, false).change("UPDATE sync_stat SET in_steps = 5");
    CHECK_FALSE(run.says("sync_every_step"));
}

}  // namespace rule_waits_test
