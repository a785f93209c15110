// Rules about idle time of one GPU: what the host does while it waits.
#include <catch2/catch.hpp>

#include "idle_run.h"

namespace rule_one_gpu_test {

using namespace made;

namespace {

int64_t of_step(double share) { return static_cast<int64_t>(share * static_cast<double>(kIdleStepNs)); }

RunRows idle_share(const char* cause, double share) { return idle_run(cause, of_step(share)); }

void add_contention(RunRows& run, const char* cause, int64_t ns) {
    for (int64_t step = 0; step < RunRows::kSteps; ++step)
        run.add("cpu_contention", {{"gpu_id", 0}, {"step", step}, {"cause", cause}, {"ns", ns}});
}

std::string verdict_of_slices(const RunRows& run) {
    const Heading* heading = run.look("allocations").value().heading;
    return heading == nullptr ? "of the rule" : heading->verdict;
}

}  // namespace

// Spans of 100 ms, of which a loader has the processor for 5; a step takes 10.
TEST_CASE("where no step was timed as a whole contention is of a mean one", "[rule][rule_one_gpu]") {
    RunRows run;
    run.rank(0).steps(0, {.ran = {{kCompute, 80 * kMs}}, .idle = {{"input_cpu", 20 * kMs}}});
    add_contention(run, "input_cpu", 5 * kMs);
    run.change("INSERT INTO unlike_steps VALUES (0); UPDATE step SET dur_ns = 10000000");
    const Finding contention = run.look("host_contention").value();
    CHECK(contention.title.starts_with("the GPU is idle 500 us of a step"));
    CHECK(contention.gain.high_ns == Approx(0.5e6));
    CHECK(run.look("input_bound").value().gain.high_ns == Approx(1.5e6));
}

TEST_CASE("nothing is said of a healthy GPU", "[rule][rule_one_gpu]") {
    RunRows run;
    run.rank(0).steps(0, {.ran = {{kCompute, 19'900 * kUs}, {kCompute | kH2d, 80 * kUs}},
                          .idle = {{"launch_latency", 20 * kUs}}});
    CHECK(run.said() == "");
}

// Of one step nobody knows whether the next has it, too.
TEST_CASE("what the only step loads or makes may be the start", "[rule][rule_one_gpu]") {
    for (const auto& [rule, cause] :
         {std::pair("allocations", "alloc_or_load"), std::pair("graph_updates", "graph_update")}) {
        RunRows one;
        one.rank(0).steps(0, {.ran = {{kCompute, 4 * kMs}}, .idle = {{cause, 16 * kMs}}}, 1);
        const Finding start = one.look(rule).value();
        REQUIRE(start.heading != nullptr);
        CHECK(std::string(start.heading->verdict) == "start-up");
        CHECK(std::string(start.heading->title).find("in each step") == std::string::npos);
        CHECK(start.try_it.find("after a warm-up") != std::string::npos);
        const Finding each = idle_share(cause, 0.8).look(rule).value();
        CHECK(each.heading == nullptr);
        CHECK(each.try_it.find("after a warm-up") == std::string::npos);
    }
}

// Later they are large graphs, or wait: no memory is allocated in them.
TEST_CASE("slow calls are of allocations at a start alone", "[rule][rule_one_gpu]") {
    RunRows one;
    one.rank(0).steps(0, {.ran = {{kCompute, 4 * kMs}}, .idle = {{"slow_call", 16 * kMs}}}, 1);
    REQUIRE(one.look("allocations").has_value());
    CHECK(one.look("allocations")->try_it.find("buffers") == std::string::npos);
    CHECK_FALSE(one.look("launch_bound").has_value());
    const RunRows each = idle_share("slow_call", 0.8);
    CHECK_FALSE(each.look("allocations").has_value());
    CHECK(each.look("launch_bound").has_value());
}

// Slices of a run without steps.
TEST_CASE("what is spread over the whole run is no start", "[rule][rule_one_gpu]") {
    const auto slices = [](int64_t count) {
        RunRows run;
        run.rank(0, "none").steps(0, {.ran = {{kCompute, 4 * kMs}}, .idle = {{"alloc_or_load", 16 * kMs}}},
                                  count);
        return run;
    };
    CHECK(verdict_of_slices(slices(100)) == "allocation-bound");
    CHECK(verdict_of_slices(slices(10)) == "start-up");
    CHECK(std::string(slices(100).look("allocations")->heading->title).find("step") == std::string::npos);
}

// Ten slices, full of it: one call, or one for each of 300 kernels, as without the caching allocator.
TEST_CASE("a program that allocates for each kernel fills slices, and is no start", "[rule][rule_one_gpu]") {
    const auto slices = [](int64_t pieces, int64_t busy_ns) {
        RunRows run;
        run.rank(0, "none").steps(
            0,
            {.ran = {{kCompute, busy_ns}}, .idle = {{"alloc_or_load", 20 * kMs - busy_ns}}, .pieces = pieces},
            10);
        return run;
    };
    CHECK(verdict_of_slices(slices(300, kMs)) == "allocation-bound");
    CHECK(verdict_of_slices(slices(1, kMs)) == "start-up");
    CHECK(verdict_of_slices(slices(300, 0)) == "start-up");  // code that is loaded, call by call
}

TEST_CASE("time of which nothing tells what the host did is called so", "[rule][rule_one_gpu]") {
    const Finding untold = idle_share("host_unknown", 0.2).look("step_gap").value();
    CHECK(untold.title.find("nothing tells what the host did") != std::string::npos);
    CHECK(untold.try_it.find("checkpoints") == std::string::npos);
    const Finding told = idle_share("host_cpu", 0.2).look("step_gap").value();
    CHECK(told.heading == nullptr);
    CHECK(told.title.find("nothing tells") == std::string::npos);
}

TEST_CASE("a host that is off its processor does nothing else", "[rule][rule_one_gpu]") {
    const Finding off = idle_share("host_blocked", 0.2).look("step_gap").value();
    CHECK(off.title.find("while the launching thread is off its processor") != std::string::npos);
    CHECK(off.try_it.find("a lock, a queue, a file") != std::string::npos);
    CHECK(off.try_it.find("checkpoints every 100 steps") == std::string::npos);
    CHECK(idle_share("callback", 0.2).look("step_gap")->title.find("off its") == std::string::npos);
}

//  rank 0   ██████████████████
//  rank 1   ██████████········
TEST_CASE("the one rank whose host does something else is named", "[rule][rule_one_gpu]") {
    const auto title_of = [](int64_t idle_of_first_ns) {
        RunRows run;
        run.rank(0).rank(1);
        run.steps(0, {.ran = {{kCompute, 10 * kMs}, {kWaiting, 10 * kMs - idle_of_first_ns}},
                      .idle = {{"callback", idle_of_first_ns}}});
        run.steps(1, {.ran = {{kCompute, 10 * kMs}}, .idle = {{"callback", 10 * kMs}}});
        return run.look("step_gap").value().title;
    };
    CHECK(title_of(0).starts_with("the GPU of rank 1 is idle"));
    CHECK(title_of(9 * kMs).starts_with("the GPU is idle"));
}

TEST_CASE("a run without steps is told to do nothing every n-th step", "[rule][rule_one_gpu]") {
    RunRows run = idle_share("host_cpu", 0.2);
    const std::string in_steps = run.look("step_gap")->try_it;
    CHECK(in_steps.find("every 100 steps") != std::string::npos);
    run.change("UPDATE rank SET steps_source = 'none'; DELETE FROM step");
    const std::string without = run.look("step_gap")->try_it;
    CHECK(without.find("step") == std::string::npos);
    CHECK(without.find("in another thread") != std::string::npos);
    CHECK(without.find("perf shows") != std::string::npos);
}

TEST_CASE("rules of one cause of idle time come on with it", "[rule][rule_one_gpu]") {
    CHECK(is_ramped("input_bound", [](double share) { return idle_share("input_cpu", share); }));
    CHECK(is_ramped("input_bound", [](double share) { return idle_share("input_wait", share); }));
    CHECK(is_ramped("input_bound", [](double share) { return idle_share("input_loading", share); }));
    CHECK(is_ramped("framework_overhead", [](double share) { return idle_share("framework", share); }));
    CHECK(is_ramped("framework_overhead", [](double share) { return idle_share("optimizer", share); }));
    CHECK(is_ramped("cpu_operators", [](double share) { return idle_share("operator_cpu", share); }));
    CHECK(is_ramped("python_overhead", [](double share) { return idle_share("python", share); }));
    CHECK(is_ramped("step_gap", [](double share) { return idle_share("callback", share); }));
    CHECK(is_ramped("launch_bound", [](double share) { return idle_share("launch_bound", share); }));
    CHECK(is_ramped("step_gap", [](double share) { return idle_share("host_cpu", share); }));
    CHECK(is_ramped("graph_updates", [](double share) { return idle_share("graph_update", share); }));
    CHECK(is_ramped("host_communication", [](double share) { return idle_share("comm_host", share); }));
    CHECK(is_ramped("host_functions", [](double share) { return idle_share("wait_host_callback", share); }));
    CHECK(idle_share("wait_host_callback", 0.2).look("host_functions")->gain.low_ns == 0);
    CHECK(idle_share("wait_host_callback", 0.2).said() == "host_functions");
    CHECK(is_ramped("allocations", [](double share) { return idle_share("alloc_or_load", share); }));
    CHECK(is_ramped("sync_every_step", [](double share) {
        RunRows run = idle_share("sync", share);
        add_waits(run, false);
        return run;
    }));
    CHECK(is_ramped("host_contention", [](double share) {
        RunRows run = idle_share("host_blocked", share);
        add_contention(run, "host_blocked", of_step(share));
        return run;
    }));
}

//  GPU   █████████|── blocked: 2 ms of it without a CPU ──|█████
TEST_CASE("idle time without a processor is no other rule's", "[rule][rule_one_gpu]") {
    for (const auto& [cause, other] :
         {std::pair("host_blocked", "step_gap"), {"input_wait", "input_bound"}}) {
        RunRows run = idle_run(cause, 3 * kMs);
        CHECK(run.said() == other);
        add_contention(run, cause, 2 * kMs);
        CHECK(run.look(other)->gain.high_ns == Approx(1 * kMs));
        CHECK(run.look("host_contention")->gain.high_ns == Approx(2 * kMs));
        RunRows all = idle_run(cause, 3 * kMs);
        add_contention(all, cause, 3 * kMs);
        CHECK(all.said() == "host_contention");
    }
}

TEST_CASE("idle time without a processor is not a reading's", "[rule][rule_one_gpu]") {
    RunRows run = idle_run("host_blocked", 3 * kMs);
    run.change("UPDATE gap SET drained_by_sync_ns = ns");
    add_waits(run, true);
    CHECK(run.said() == "sync_every_step");
    add_contention(run, "host_blocked", 3 * kMs);
    CHECK(run.said() == "host_contention");
}

//  in every fourth step of rank 1, and in none of rank 0: of so many steps of twenty, not of forty
TEST_CASE("long gaps of a rank are of so many steps of the job", "[rule][rule_one_gpu]") {
    RunRows run;
    run.rank(0).rank(1);
    run.steps(0, {.ran = {{kCompute, 20 * kMs}}});
    for (int64_t step = 0; step < RunRows::kSteps; ++step)
        run.step(1, step,
                 {.ran = {{kCompute, 18 * kMs}}, .idle = {{"host_cpu", step % 4 == 0 ? 10 * kMs : 0}}});
    CHECK(run.look("step_gap")->title.find("most of it in 4 of 20 steps") != std::string::npos);
}

//  rank 0   ███ ███ ███ ███      steps
//  rank 1   ───────────────      has none, and logs: its slices are no steps of the job
TEST_CASE("a rank without steps makes no step longer", "[rule][rule_one_gpu]") {
    RunRows run;
    run.rank(0).rank(1, "none");
    run.steps(0, {.ran = {{kCompute, 20 * kMs}}});
    run.steps(1, {.idle = {{"host_blocked", 100 * kMs}}}, 4);
    CHECK(run.said() == "");
}

TEST_CASE("loading code after warm-up is told from allocating", "[rule][rule_one_gpu]") {
    const auto with_loads = [](int64_t steps_with_load, const char* steps = "detected") {
        RunRows run;
        run.rank(0, steps);
        for (int64_t step = 0; step < RunRows::kSteps; ++step)
            run.step(0, step,
                     {.ran = {{kCompute, 19 * kMs}},
                      .idle = {{"host_cpu", step < steps_with_load ? 10 * kMs : 0},
                               {"alloc_or_load", step < steps_with_load ? 2 * kMs : 0}}});
        run.change("UPDATE gpu SET memory_peak_bytes = 13 << 30");
        run.change("UPDATE step SET has_load = 1 WHERE step < " + std::to_string(steps_with_load));
        run.add("load_stat", {{"rank_id", 0},
                              {"loads", 100 + steps_with_load},
                              {"load_ns", kMs},
                              {"after_warm_up", steps_with_load},
                              {"after_warm_up_ns", 2 * kMs * steps_with_load}});
        return run;
    };
    RunRows run = with_loads(4);
    CHECK(run.said() == "recompilation");
    CHECK(run.look("recompilation")->gain.low_ns == Approx(4 * 2 * kMs / 20.0));
    CHECK(run.look("recompilation")->gain.high_ns == Approx(4 * 12 * kMs / 20.0));
    CHECK(run.look("recompilation")->in_some_steps);
    CHECK(run.look("recompilation")
              ->title.find("the 4 steps that load code take 31.0 ms, the others 19.0 ms") !=
          std::string::npos);
    CHECK_FALSE(with_loads(16).look("recompilation")->in_some_steps);
    CHECK(with_loads(0).said() == "");
    // Where no steps are known a stretch may be long, and its host did more than compile: 2 of 20 ms are 8 %
    // here.
    const auto found = with_loads(16, "none").look("recompilation");
    REQUIRE(found);
    CHECK(found->gain.high_ns == Approx(found->gain.low_ns));
}

TEST_CASE("where code is compiled is said if most of such time is in steps that load some",
          "[rule][rule_one_gpu]") {
    const auto where = [](int64_t others_ns) {
        RunRows run;
        run.rank(0);
        for (int64_t step = 0; step < RunRows::kSteps; ++step)
            run.step(
                0, step,
                {.ran = {{kCompute, 10 * kMs}}, .idle = {{"host_cpu", step < 4 ? 10 * kMs : others_ns}}});
        run.change("UPDATE step SET has_load = 1 WHERE step < 4");
        run.add("load_stat", {{"rank_id", 0},
                              {"loads", 100},
                              {"load_ns", kMs},
                              {"after_warm_up", 4},
                              {"after_warm_up_ns", kMs}});
        run.add("idle_python", {{"gpu_id", 0},
                                {"step", 1},
                                {"cause", "host_cpu"},
                                {"file", "/me/attention.py"},
                                {"function", "forward"},
                                {"line", 46},
                                {"ns", 9 * kMs},
                                {"samples", 9}});
        return run.look("recompilation")->where;
    };
    CHECK(where(kMs) == "by 9 of 9 samples in attention.py:46 (forward)");
    CHECK(where(6 * kMs) == "");
}

TEST_CASE("a rank that waits for another gains nothing by itself", "[rule][rule_one_gpu]") {
    RunRows run;
    run.rank(0).rank(1);
    run.steps(0, {.ran = {{kCompute, 14 * kMs}, {kWaiting, 3 * kMs}}, .idle = {{"input_cpu", 3 * kMs}}});
    run.steps(1, {.ran = {{kCompute, 20 * kMs}}});
    CHECK_FALSE(run.says("input_bound"));
}

TEST_CASE("room in memory is worth what comes once in a step", "[rule][rule_one_gpu]") {
    const auto with_peak = [](int64_t gigabytes, double share) {
        RunRows run = idle_share("launch_bound", share);
        run.change("UPDATE gpu SET memory_peak_bytes = " + std::to_string(gigabytes << 30));
        return run;
    };
    CHECK(is_ramped("larger_batch", [&](double share) { return with_peak(1, share * 8 / 7); }));
    // 16 GB of which 1 are used: 12.8 times, so 8; of 2 ms an eighth stays.
    CHECK(with_peak(1, 0.1).look("larger_batch")->gain.high_ns == Approx(2 * kMs * 7 / 8.0));
    CHECK(with_peak(1, 0.1).look("larger_batch")->title.find("room for 8 times") != std::string::npos);
    CHECK_FALSE(with_peak(12, 0.3).says("larger_batch"));
}

TEST_CASE("kernels that do not fill the GPU are worth a larger batch", "[rule][rule_one_gpu]") {
    const auto with_grids = [](double share, bool is_small, int64_t launches = 10'000) {
        RunRows run = idle_run("launch_latency", 10 * kUs);
        run.change("UPDATE gpu SET memory_peak_bytes = 1 << 30");
        run.add("kernel", {{"gpu_id", 0},
                           {"name", "gemm"},
                           {"family", "gemm"},
                           {"launches", launches * RunRows::kSteps},
                           {"graph_launches", 0},
                           {"timed", launches * RunRows::kSteps},
                           {"sum_ns", of_step(share) * RunRows::kSteps},
                           {"small_grid", is_small ? launches * RunRows::kSteps : 0}});
        return run;
    };
    CHECK(is_ramped("larger_batch", [&](double share) { return with_grids(share * 8 / 7, true); }));
    CHECK_FALSE(with_grids(0.9, false).says("larger_batch"));
    // What sums for long in few blocks goes over all rows of the batch in each of them: a gradient of weights
    // on tensor cores, a norm.
    RunRows lasting = with_grids(0.8, true, 200);
    lasting.change("UPDATE kernel SET eligible = 1, tensor_core = 'no'");
    CHECK(lasting.says("larger_batch"));
    lasting.change("UPDATE kernel SET tensor_core = 'yes'");
    CHECK_FALSE(lasting.says("larger_batch"));
    lasting.change("UPDATE kernel SET eligible = 0, tensor_core = NULL, family = 'normalisation'");
    CHECK_FALSE(lasting.says("larger_batch"));
    // More of it than there is of the step: an eighth of the step stays.
    CHECK(with_grids(1.3, true).look("larger_batch")->gain.high_ns == Approx(kIdleStepNs * 7 / 8.0));
}

}  // namespace rule_one_gpu_test
