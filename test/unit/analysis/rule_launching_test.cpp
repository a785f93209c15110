// Rules about time between launches, of which nothing tells what the host did, and which of them come first;
// and of which time launches are counted.
#include <catch2/catch.hpp>

#include "run_rows.h"

namespace rule_launching_test {

using namespace made;

namespace {

constexpr int64_t kStepNs = 20 * kMs;

// One rank, steps of 20 ms, idle for so much of them by that cause, in so many gaps.
RunRows idle_share(const char* cause, double share, int64_t pieces = 1) {
    const auto ns = static_cast<int64_t>(share * static_cast<double>(kStepNs));
    RunRows run;
    run.rank(0).steps(0, {.ran = {{kCompute, kStepNs - ns}}, .idle = {{cause, ns}}, .pieces = pieces});
    run.change("UPDATE gpu SET memory_peak_bytes = 13 << 30");  // no room for a larger batch
    return run;
}

}  // namespace

// Of 20 ms so much on the way from one launch to the next, in so many gaps.
TEST_CASE("many short gaps between launches are launching, one long one is not", "[rule][rule_launching]") {
    const auto between = [](double share, int64_t pieces) {
        return idle_share("between_launches", share, pieces);
    };
    CHECK(is_ramped("launch_bound", [&](double share) { return between(share, 40); }));
    CHECK(is_ramped("step_gap", [&](double share) { return between(share, 1); }));
    CHECK_FALSE(between(0.5, 40).says("step_gap"));
    CHECK_FALSE(between(0.5, 1).says("launch_bound"));
    const Finding many = between(0.5, 40).look("launch_bound").value();
    CHECK(many.title.find("inferred") != std::string::npos);
    CHECK(many.confidence == 0.7);
    // Of 10 ms in 40 gaps any one may be something else.
    CHECK(many.gain.high_ns == Approx(10 * kMs));
    CHECK(many.gain.low_ns < 10 * kMs - 10 * kMs / 40);
    CHECK(many.gain.low_ns > 9 * kMs);
    // What was seen is not called inferred.
    CHECK(idle_share("launch_bound", 0.5).look("launch_bound")->title.find("inferred") == std::string::npos);
}

// Gaps so short that the clocks do not tell when the next was launched.
TEST_CASE("what clocks do not resolve is launching at most as far as launching is known",
          "[rule][rule_launching]") {
    const auto with = [](int64_t launching_ns, int64_t unresolved_ns) {
        RunRows run;
        run.rank(0).steps(0, {.ran = {{kCompute, kStepNs - launching_ns - unresolved_ns}},
                              .idle = {{"launch_bound", launching_ns}, {"unresolved", unresolved_ns}}});
        return run.look("launch_bound").value();
    };
    CHECK(with(4 * kMs, 2 * kMs).gain.high_ns == Approx(6 * kMs));
    CHECK(with(4 * kMs, 2 * kMs).gain.low_ns == Approx(with(4 * kMs, 0).gain.low_ns));
    CHECK(with(kMs, 6 * kMs).gain.high_ns == Approx(2 * kMs));
    const auto says = [&](int64_t unresolved_ns, const char* words) {
        return with(4 * kMs, unresolved_ns).title.find(words) != std::string::npos;
    };
    CHECK(says(2 * kMs, "; and up to 2.00 ms in gaps that the clocks do not resolve"));
    CHECK_FALSE(says(kMs / 10, "do not resolve"));
}

TEST_CASE("a larger batch comes behind what says why the time goes by", "[rule][rule_launching]") {
    const auto first = [](std::map<std::string, int64_t> idle, int64_t pieces) {
        RunRows run;
        run.rank(0).steps(0, {.ran = {{kCompute, 10 * kMs}}, .idle = std::move(idle), .pieces = pieces});
        run.change("UPDATE gpu SET memory_peak_bytes = 1 << 30");
        REQUIRE(run.says("larger_batch"));
        const std::string said = run.said();
        return said.substr(0, said.find(' '));
    };
    CHECK(first({{"between_launches", 10 * kMs}}, 40) == "launch_bound");
    CHECK(first({{"launch_bound", 10 * kMs}}, 40) == "launch_bound");
    CHECK(first({{"python", 10 * kMs}}, 40) == "python_overhead");
    CHECK(first({{"python", 7 * kMs}, {"launch_bound", 3 * kMs}}, 40) == "python_overhead");
    // Several together: what they have in common is that they come once in a step.
    CHECK(first({{"python", 5 * kMs}, {"launch_bound", 5 * kMs}}, 40) == "larger_batch");
}

// Without steps, in few slices: what is allocated may be the start, which comes once.
TEST_CASE("what may be the start comes behind what is not", "[rule][rule_launching]") {
    const auto first = [](int64_t launching_ns) {
        RunRows run;
        run.rank(0, "none").steps(0,
                                  {.ran = {{kCompute, kStepNs - 8 * kMs - launching_ns}},
                                   .idle = {{"alloc_or_load", 8 * kMs}, {"launch_bound", launching_ns}}},
                                  10);
        const std::string said = run.said();
        return said.substr(0, said.find(' '));
    };
    CHECK(first(7 * kMs) == "launch_bound");
    CHECK(first(3 * kMs) == "allocations");
}

TEST_CASE("a few launches without steps are nothing that comes again and again", "[rule][rule_launching]") {
    const auto found = [](int64_t launches, const char* steps) {
        RunRows run;
        run.rank(0, steps).steps(0, {.ran = {{kCompute, 10 * kMs}}, .idle = {{"launch_bound", 10 * kMs}}}, 1);
        run.add("launch_stat", {{"gpu_id", 0}, {"count", launches}});
        const auto finding = run.look("launch_bound");
        return finding ? finding->title : "";
    };
    CHECK(found(2, "none").empty());
    CHECK(!found(40, "none").empty());
    CHECK(found(2, "gpushim_step").find(" for 2 launches, 0 of them for small kernels") != std::string::npos);
    CHECK(found(1, "gpushim_step").find(" for 1 launch, 0 of them for small kernels") != std::string::npos);
}

// A wait for the lock takes 5 ms, and samples are 10 apart.
TEST_CASE("waits that were not seen are the interpreter's lock where nearly all that were are",
          "[rule][rule_launching]") {
    const auto with = [](int64_t for_lock, int64_t for_else) {
        RunRows run;
        run.rank(0).steps(0, {.ran = {{kCompute, kStepNs - 9 * kMs}},
                              .idle = {{"interpreter_lock", 4 * kMs}, {"host_blocked", 5 * kMs}}});
        run.change("UPDATE gpu SET memory_peak_bytes = 13 << 30");
        const auto sampled = [&](const char* cause, int64_t samples) {
            run.add("idle_python", {{"gpu_id", 0},
                                    {"step", 1},
                                    {"cause", cause},
                                    {"file", "/me/train.py"},
                                    {"function", "main"},
                                    {"line", 7},
                                    {"ns", samples * kMs},
                                    {"samples", samples}});
        };
        sampled("interpreter_lock", for_lock);
        sampled("host_blocked", for_else);
        return run;
    };
    const Finding found = with(16, 4).look("python_overhead").value();
    CHECK(found.gain.low_ns == Approx(4 * kMs).margin(10 * kUs));
    CHECK(found.gain.high_ns == Approx(9 * kMs));
    CHECK(found.title.find("and up to 5.00 ms in which it was off its processor and not seen") !=
          std::string::npos);
    CHECK_FALSE(with(16, 4).says("step_gap"));
    REQUIRE(found.heading != nullptr);
    CHECK(std::string(found.heading->title) == "The lock of Python's interpreter");
    CHECK(idle_share("python", 0.2).look("python_overhead")->heading == nullptr);
    for (const auto& [for_lock, for_else] : {std::pair{16, 5}, {9, 0}}) {
        CHECK(with(for_lock, for_else).look("python_overhead")->gain.high_ns == Approx(4 * kMs));
        CHECK(with(for_lock, for_else).says("step_gap"));
    }
}

// Where all of a program is one call of a trainer, its own line tells nothing.
TEST_CASE("the line of a library is named where most samples of a line were in it",
          "[rule][rule_launching]") {
    const auto where = [](int64_t in_loop, int64_t elsewhere) {
        RunRows run = idle_share("host_cpu", 0.2);
        const auto sampled = [&](const char* file, const char* function, int64_t line, int64_t samples,
                                 int64_t step = 1) {
            run.add("idle_python", {{"gpu_id", 0},
                                    {"step", step},
                                    {"cause", "host_cpu"},
                                    {"file", "/me/train.py"},
                                    {"function", "main"},
                                    {"line", 7},
                                    {"ns", samples * kMs},
                                    {"samples", samples},
                                    {"inside_file", file},
                                    {"inside_function", function},
                                    {"inside_line", line}});
        };
        if (in_loop > 0) sampled("/v/site-packages/t/trainer.py", "loop", 9, in_loop);
        if (elsewhere > 0) sampled("", "", 0, elsewhere);
        sampled("/v/site-packages/t/compiler.py", "compile", 3, 90, -1);  // before the first step
        return run.look("step_gap")->where;
    };
    CHECK(where(4, 0) == "by 4 of 4 samples in train.py:7 (main), there in trainer.py:9 (loop)");
    CHECK(where(3, 1) == "by 4 of 4 samples in train.py:7 (main), 3 of them in trainer.py:9 (loop)");
    CHECK(where(2, 2) == "by 4 of 4 samples in train.py:7 (main)");
    CHECK(where(0, 4) == "by 4 of 4 samples in train.py:7 (main)");
}

// 20 slices of 20 ms in a run of a second: where all was timed, nothing ran in the rest.
TEST_CASE("what is counted without steps is of the time in which all of it ran", "[rule][rule_launching]") {
    RunRows run;
    run.rank(0, "none").steps(0, {.ran = {{kCompute, kStepNs}}});
    const auto of_a_second = [](const RunRows& rows) { return Situation(rows.raw()).counted(400e6); };
    CHECK(of_a_second(run) == Approx(400e6));
    run.change("UPDATE gpu SET timed_share = 1");
    CHECK(of_a_second(run) == Approx(1e9));
}

// Of a run of a second 20 steps take 400 ms; what was timed is in none of them as a whole.
TEST_CASE("what is counted where no step was timed is of the steps, not of the start-up",
          "[rule][rule_launching]") {
    RunRows run;
    run.rank(0).steps(0, {.ran = {{kCompute, kStepNs}}});
    CHECK(Situation(run.raw()).counted(400e6) == Approx(20e6));
    run.change("INSERT INTO unlike_steps VALUES (0)");
    CHECK_FALSE(Situation(run.raw()).has_steps());
    CHECK(Situation(run.raw()).per() == "step");
    CHECK(Situation(run.raw()).step_ns() == Approx(20e6));
    CHECK(Situation(run.raw()).counted(400e6) == Approx(20e6));
    run.change("UPDATE rank SET last_ns = 60000000000");  // what comes behind the steps takes a minute
    CHECK(Situation(run.raw()).counted(400e6) == Approx(20e6));
    // Kernels need 100 ms for each, which the host has launched in 20.
    run.add("kernel", {{"gpu_id", 0},
                       {"name", "sweep"},
                       {"launches", 10 * RunRows::kSteps},
                       {"timed", 20},
                       {"sum_ns", 200 * kMs}});
    CHECK(Situation(run.raw()).step_ns() == Approx(100e6));
    CHECK(Situation(run.raw()).counted(400e6) == Approx(20e6));
    // All was over 400 ms behind the first step's begin: the rest came before, or ran beside it.
    run.change("UPDATE rank SET last_ns = 400000000");
    CHECK(Situation(run.raw()).step_ns() == Approx(20e6));
}

}  // namespace rule_launching_test
