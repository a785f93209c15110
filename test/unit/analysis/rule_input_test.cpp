// Rules about a GPU that waits for its batch, and what is not that.
#include <catch2/catch.hpp>

#include <string>

#include "idle_run.h"
#include "shim/failing_new.h"

namespace rule_input_test {

using namespace made;

TEST_CASE("what the GPU waits for is the gain, and only that rule's", "[rule][rule_input]") {
    RunRows run = idle_run("input_cpu", 3 * kMs);
    CHECK(run.said() == "input_bound");
    const Finding found = *run.look("input_bound");
    CHECK(found.gain.high_ns == Approx(3 * kMs));
    CHECK(found.gain.low_ns == Approx(3 * kMs - 8 * kUs));  // a launch's latency stays
    REQUIRE(found.evidence.size() == 3);
    CHECK(found.evidence[0].table == "gap");
    CHECK(found.title.find("itself loads the batch") != std::string::npos);
    CHECK(idle_run("input_wait", 3 * kMs).look("input_bound")->title.find("from its loaders") !=
          std::string::npos);
}

TEST_CASE("behind a number that is read, the host may work on that", "[rule][rule_input]") {
    const auto is_either = [](const RunRows& run) {
        return run.look("input_bound")->title.find("on its CPU, or works on what it has just read back") !=
               std::string::npos;
    };
    RunRows run = idle_run("input_cpu", 3 * kMs);
    CHECK(!is_either(run));
    add_waits(run, true);
    CHECK(is_either(run));
    const auto with_answers = [](int64_t back_bytes) {
        RunRows answers = idle_run("input_cpu", 3 * kMs);
        for (const auto& [kind, bytes] : {std::pair("h2d", int64_t{65'536}), {"d2h", back_bytes}})
            answers.add("copy_stat", {{"gpu_id", 0},
                                      {"kind", kind},
                                      {"count", RunRows::kSteps},
                                      {"bytes", RunRows::kSteps * bytes},
                                      {"steps", RunRows::kSteps}});
        return answers;
    };
    CHECK(is_either(with_answers(65'536)));
    CHECK(!is_either(with_answers(4)));
}

namespace {

// So much of 3 ms in each step lies in that range, which was over when the batch was copied, or not.
RunRows in_own_range(const char* cause, double share, bool is_over = true) {
    RunRows run = idle_run(cause, 3 * kMs);
    const auto ns = static_cast<int64_t>(share * 3e6 * RunRows::kSteps);
    run.add("idle_range", {{"gpu_id", 0},
                           {"steps", "counted"},
                           {"cause", cause},
                           {"name", "prepare"},
                           {"ns", ns},
                           {"over_ns", is_over ? ns : 0}});
    return run;
}

}  // namespace

TEST_CASE("the program's own range is named, and is no loader by guess", "[rule][rule_input]") {
    const Finding before = in_own_range("input_cpu", 0.9).look("input_bound").value();
    CHECK(before.where == "90 % of it in its own range \"prepare\"");
    REQUIRE(before.heading != nullptr);
    CHECK(std::string(before.heading->verdict) == "host-bound");
    CHECK(before.title.find("loads the batch") == std::string::npos);
    CHECK(before.title.find("before the copy of a batch, while the launching thread works on its CPU") !=
          std::string::npos);
    CHECK(in_own_range("input_wait", 0.9).look("input_bound")->title.find("thread waits") !=
          std::string::npos);
    // Around the copy as well: it may be all of the step.
    const Finding around = in_own_range("input_cpu", 0.9, false).look("input_bound").value();
    CHECK(around.heading == nullptr);
    CHECK(around.where == before.where);
    const Finding told = in_own_range("input_loading", 0.9).look("input_bound").value();
    CHECK(told.heading == nullptr);
    CHECK(told.title.find("loads or makes a batch") != std::string::npos);
    const Finding some = in_own_range("input_cpu", 0.4).look("input_bound").value();
    CHECK(some.heading == nullptr);
    CHECK(some.where.empty());
}

TEST_CASE("where a range was named, nobody has to look for it", "[rule][rule_input]") {
    const Finding found = in_own_range("host_cpu", 0.9).look("step_gap").value();
    CHECK(found.where == "90 % of it in its own range \"prepare\"");
    CHECK(found.try_it.find("NVTX ranges name it") == std::string::npos);
    RunRows other = in_own_range("host_cpu", 0.9);
    other.change("UPDATE idle_range SET steps = 'others'");  // of a warm-up
    CHECK(other.look("step_gap")->where.empty());
}

TEST_CASE("what does not train may wait for requests", "[rule][rule_input]") {
    RunRows run = idle_run("input_wait", 3 * kMs);
    CHECK(run.look("input_bound")->title.find("from its loaders, or for requests") != std::string::npos);
    CHECK(run.look("input_bound")->try_it.find("no fault of the program") != std::string::npos);
    run.add("program", {{"rank_id", 0}, {"kind", "training"}});
    CHECK(run.look("input_bound")->title.find("requests") == std::string::npos);
    CHECK(idle_run("input_cpu", 3 * kMs).look("input_bound")->title.find("requests") == std::string::npos);
}

//  19 steps load for 100 us, one for 40 ms
TEST_CASE("a step that loads for very long does something else", "[rule][rule_input]") {
    RunRows run = but_for_one("input_cpu", "input_cpu");
    CHECK(run.said() == "step_gap");
    const Finding found = *run.look("step_gap");
    CHECK(found.gain.high_ns == Approx((40 * kMs - 400 * kUs) / 20.0));
    CHECK(found.title.find("in 1 of 20 steps; the longest, 39.6 ms, in step 8") != std::string::npos);
    CHECK(found.in_some_steps);
}

// From outside the two look alike, so both are said.
TEST_CASE("a long wait before a batch is for a late batch or for something else", "[rule][rule_input]") {
    const Finding late = *but_for_one("input_wait", "input_wait").look("step_gap");
    REQUIRE(late.heading != nullptr);
    CHECK(std::string(late.heading->title) == "Long waits before some batches");
    CHECK(late.title.find("for a batch that is late, or while the host does something else") !=
          std::string::npos);
    CHECK(late.try_it.find("load further ahead") != std::string::npos);
    const Finding other = *but_for_one("input_wait", "host_cpu").look("step_gap");
    CHECK(other.heading == nullptr);
    CHECK(other.in_some_steps);
    CHECK(other.try_it.find("load further ahead") == std::string::npos);
    CHECK_FALSE(idle_run("host_cpu", 3 * kMs).look("step_gap")->in_some_steps);
    RunRows slices = but_for_one("input_wait", "input_wait");  // of a run without steps
    slices.change("UPDATE rank SET steps_source = 'none'");
    const auto of_slices = slices.look("step_gap");
    CHECK((!of_slices || of_slices->title.find("of a step") == std::string::npos));
}

//  rank 0   ████████· ████████·         a batch takes 100 us
//  rank 1   ████████· ████████·
//  rank 2   ████████···· ████████····   and 2 ms, in every step: no callback, though no other rank has such
TEST_CASE("what a rank waits for its input in each of its steps is usual for it", "[rule][rule_input]") {
    RunRows run;
    run.rank(0).rank(1).rank(2);
    for (const int64_t rank : {0, 1})
        run.steps(rank, {.ran = {{kCompute, 18 * kMs}, {kWaiting, 1900 * kUs}},
                         .idle = {{"input_wait", 100 * kUs}}});
    run.steps(2, {.ran = {{kCompute, 18 * kMs}}, .idle = {{"input_wait", 2 * kMs}}});
    CHECK(!run.look("step_gap"));
    CHECK(run.look("input_bound")->gain.high_ns == Approx(2 * kMs));  // the others' own work takes 18 ms, too
}

// 25 ns of which nothing tells are not what 300 us are, though the host did little else by a name.
TEST_CASE("what looks like a batch in a few steps is no time that nothing tells of", "[rule][rule_input]") {
    RunRows run = but_for_one("input_wait", "input_wait", {{"host_unknown", 25}});
    const Finding found = *run.look("step_gap");
    CHECK(found.title.find("before the copy of a batch") != std::string::npos);
    CHECK(found.title.find("nothing tells") == std::string::npos);
}

//  GPU    █████ backward d2h|            |h2d █████      15 MB each way, in every step
//  host                      | optimizer |
TEST_CASE("what is computed between copies back and forth is not called loading", "[rule][rule_input]") {
    const auto run_of = [](int64_t back_bytes, int64_t steps) {
        RunRows run = idle_run("input_cpu", 3 * kMs);
        for (const auto& [kind, bytes] : {std::pair("d2h", back_bytes), {"h2d", 15'000'000}})
            run.add("copy_stat", {{"gpu_id", 0},
                                  {"stream_id", 1},
                                  {"kind", kind},
                                  {"count", RunRows::kSteps},
                                  {"bytes", RunRows::kSteps * bytes},
                                  {"steps", std::string_view(kind) == "d2h" ? steps : RunRows::kSteps}});
        return run;
    };
    const Finding offloaded = *run_of(15'000'000, RunRows::kSteps).look("input_bound");
    REQUIRE(offloaded.heading != nullptr);
    CHECK(std::string(offloaded.heading->verdict) == "host-bound");
    CHECK(offloaded.title.find("between 15.0 MB that it reads back and 15.0 MB that it sends") !=
          std::string::npos);
    CHECK(offloaded.gain.high_ns == Approx(3 * kMs));
    CHECK(run_of(80'000'000, RunRows::kSteps).look("input_bound")->heading != nullptr);  // weights' average
    CHECK(run_of(4'000, RunRows::kSteps).look("input_bound")->heading == nullptr);       // a loss
    CHECK(run_of(15'000'000, 2).look("input_bound")->heading == nullptr);                // checkpoints
}

//  GPU    █ d2h|          |h2d █ d2h|          |h2d █        8 times in a step, 4 kB each way
//  host         | simulator |       | simulator |
TEST_CASE("what lies between many readings and as many sendings is not called loading",
          "[rule][rule_input]") {
    const auto run_of = [](int64_t sent, int64_t read, const char* cause, int64_t waits = 8) {
        RunRows run;
        run.rank(0).steps(
            0, {.ran = {{kCompute, kIdleStepNs - 3 * kMs}}, .idle = {{cause, 3 * kMs}}, .pieces = waits});
        run.add("copy_stat", {{"gpu_id", 0},
                              {"stream_id", 1},
                              {"kind", "h2d"},
                              {"count", RunRows::kSteps * sent},
                              {"bytes", RunRows::kSteps * 4096 * sent},
                              {"steps", RunRows::kSteps}});
        run.add("transfer_pattern",
                {{"gpu_id", 0}, {"pattern", "small_d2h_sync"}, {"count", RunRows::kSteps * read}});
        return run;
    };
    const Finding waits = *run_of(8, 8, "input_wait").look("input_bound");
    CHECK(waits.title ==
          "the GPU waits 3.00 ms of a step while the launching thread waits between what it reads back and "
          "what it sends, 8 times in a step: for simulators or players, or for its next batches");
    CHECK(waits.try_it.find("two groups by turns") != std::string::npos);
    CHECK(run_of(8, 8, "input_cpu").look("input_bound")->title.find("thread works on its CPU") !=
          std::string::npos);
    CHECK(run_of(1, 8, "input_wait").look("input_bound")->heading == nullptr);     // a branch, a norm
    CHECK(run_of(8, 1, "input_wait").look("input_bound")->heading == nullptr);     // micro-batches and a loss
    CHECK(run_of(8, 8, "input_wait", 1).look("input_bound")->heading == nullptr);  // tensors of one batch
    RunRows trained = run_of(8, 8, "input_wait");                                  // … the loss of each
    for (int64_t step = 0; step < RunRows::kSteps; ++step)
        for (int64_t batch = 0; batch < 8; ++batch)
            trained.add("phase", {{"rank_id", 0},
                                  {"step", step},
                                  {"name", "forward"},
                                  {"begin_ns", step * 20 * kMs + batch * kMs},
                                  {"dur_ns", kMs / 2}});
    CHECK(trained.look("input_bound")->heading == nullptr);
}

//  19 steps load for 100 us, one for 40 ms, and the loader says so: workers deliver in bursts
TEST_CASE("a step that loads for very long waits for its loader, where that is told", "[rule][rule_input]") {
    RunRows run = but_for_one("input_loading", "input_loading");
    CHECK(run.said() == "input_bound");
    CHECK(run.look("input_bound")->gain.high_ns == Approx((40 * kMs + 19 * 100 * kUs) / 20.0));
}

//  19 steps load for 100 us, and say so; in one 40 ms pass before its batch, and nothing tells of what
TEST_CASE("that the loader was named once makes nothing else input", "[rule][rule_input]") {
    RunRows run = but_for_one("input_loading", "input_cpu");
    run.add("torch_step", {{"rank_id", 0}, {"number", 3}, {"dataloader_ns", 100 * kUs}});
    CHECK(run.said() == "step_gap");
}

// Of a run of many steps each is asked for: to look through all of them each time would take hours.
TEST_CASE("what is usual in all steps is not worked out for each of them", "[rule][rule_input]") {
    if (!FailingNew::kWorks) return;
    RunRows run = idle_run("input_cpu", 2 * kMs);
    const Situation situation(run.raw());
    const FailingNew first(1);
    double input_ns = 0;
    for (const GpuInStep& gpu : situation.basis().rows()) input_ns += situation.input_ns(gpu);
    CHECK(!first.has_failed());
    CHECK(input_ns == RunRows::kSteps * 2e6);
}

}  // namespace rule_input_test
