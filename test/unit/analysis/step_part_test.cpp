// Phases of steps: from ranges by their names, else from what was launched.
#include "analysis/run/parts/own_parts.h"
#include "analysis/run/parts/phase_words.h"
#include "made_facts.h"

#include <catch2/catch.hpp>

namespace step_part_test {

using namespace made;

namespace {

std::string phase(const Written& written, const std::string& name, int step = 0) {
    return written.ask("SELECT begin_ns, dur_ns, confidence FROM phase WHERE rank_id = 7 AND step = " +
                       std::to_string(step) + " AND name = '" + name + "'");
}
Call h2d(int64_t enter_ns, int32_t step) {
    return in_step(of_kind(launch(0, enter_ns, enter_ns + 1), OperationClass::h2d, 1 << 20), step);
}

// One step's calls, `at` later.
//   0    10 … 30      40       50      60         70
//   h2d  fwd          bwd      comm    bwd comm   adam
std::vector<Call> calls_of(int64_t at_ns, int32_t step) {
    const auto call = [&](int64_t t_ns, int64_t shape) {
        return in_step(kernel(launch(0, at_ns + t_ns, at_ns + t_ns + 1), shape), step);
    };
    Call comm = call(50, 0), more = call(65, 0);
    comm.type = more.type = OperationClass::comm;
    return {h2d(at_ns, step), call(10, 0), call(20, 0), call(30, 0), call(40, 1), comm,
            call(60, 0),      more,        call(70, 2), call(75, 2)};
}

struct StepFacts : MadeFacts {
    StepFacts() {
        kernel("a");
        kernel("layer_norm_backward_kernel");
        kernel("multi_tensor_apply_kernel_adam_fused");
        facts.kernels[2].facts.family = KernelFamily::optimizer;
        step(0, 100);
        step(100, 200);
    }
};

}  // namespace

TEST_CASE("phases come from what a step launched", "[step_part]") {
    StepFacts made;
    std::vector<Call> calls = calls_of(0, 0);
    for (const Call& call : calls_of(100, 1)) calls.push_back(call);
    Written written;
    all_of(make_step_part(made.facts), made, calls, written);
    for (const int step : {0, 1}) {
        const int64_t at_ns = step * 100;
        const auto expected = [&](int64_t begin_ns, const char* rest) {
            return std::to_string(at_ns + begin_ns) + " " + rest;
        };
        CHECK(phase(written, "input", step) == expected(0, "10 0.8"));
        CHECK(phase(written, "forward", step) == expected(10, "30 0.9"));
        CHECK(phase(written, "backward", step) == expected(40, "30 0.9"));
        CHECK(phase(written, "communication", step) == expected(50, "16 0.8"));
        CHECK(phase(written, "optimizer", step) == expected(70, "6 0.9"));  // not the wait behind it
    }
}

// Three copies of four bytes behind it are no input.
TEST_CASE("input is told by its bytes, not by how many copies there are", "[step_part]") {
    for (const int64_t behind : {4, 1 << 20}) {
        StepFacts made;
        std::vector<Call> calls = calls_of(0, 0);
        for (const int64_t t_ns : {76, 77, 78}) {
            calls.push_back(in_step(of_kind(launch(0, t_ns, t_ns + 1), OperationClass::h2d, behind, 8), 0));
        }
        Written written;
        all_of(make_step_part(made.facts), made, calls, written);
        CHECK(phase(written, "input") == (behind == 4 ? "0 10 0.8" : "no row"));
    }
}

// The optimizer's kernels follow others directly.
TEST_CASE("an optimizer is found without anything between", "[step_part]") {
    StepFacts made;
    std::vector<Call> calls;
    for (const auto& [t_ns, shape] : {std::pair(10, 0), {20, 0}, {40, 1}, {60, 0}, {70, 2}, {75, 2}})
        calls.push_back(in_step(kernel(launch(0, t_ns, t_ns + 1), shape), 0));
    Written written;
    all_of(make_step_part(made.facts), made, calls, written);
    CHECK(phase(written, "backward") == "40 30 0.9");
    CHECK(phase(written, "optimizer") == "70 6 0.9");
}

//  range    forward 5-35, in it forward 10-20;  loss.backward 35-80;  Optimizer.step 80-95;  open: nothing
TEST_CASE("the program's ranges come before what was launched", "[step_part]") {
    StepFacts made;
    made.made.run(
        "INSERT INTO name VALUES (1, 'forward', NULL), (2, 'loss.backward', NULL),"
        " (3, 'Optimizer.step#SGD', NULL), (4, 'something', NULL)");
    const auto range = [&](int64_t begin_ns, int64_t end_ns, int name) {
        made.made.run("INSERT INTO marker (enter_ns, thread_id, kind, name_id, value, dur_ns) VALUES (" +
                      std::to_string(end_ns) + ", 1, 'pop', " + std::to_string(name) + ", 0, " +
                      std::to_string(end_ns - begin_ns) + ")");
    };
    range(10, 20, 1);
    range(5, 35, 1);
    range(36, 80, 2);
    range(85, 95, 3);
    range(1, 99, 4);
    std::vector<Call> calls = calls_of(0, 0);
    for (const Call& call : calls_of(100, 1)) calls.push_back(call);
    Written written;
    all_of(make_step_part(made.facts), made, calls, written);
    CHECK(written.ask("SELECT count(*), sum(confidence = 1) FROM phase WHERE step = 0") == "5 3");
    CHECK(phase(written, "forward") == "5 30 1.0");
    CHECK(phase(written, "backward") == "36 44 1.0");
    CHECK(phase(written, "optimizer") == "85 10 1.0");
    CHECK(phase(written, "forward", 1) == "110 30 0.9");
}

//  gone          |────────|                 90 to 110: both steps lack rows
TEST_CASE("a step of which rows are gone has no phases", "[step_part]") {
    StepFacts made;
    made.step(200, 300);
    std::vector<Call> calls = calls_of(0, 0);
    calls.push_back(gone(kNoLane, 90, 110));
    for (const Call& call : calls_of(100, 1)) calls.push_back(call);
    for (const Call& call : calls_of(200, 2)) calls.push_back(call);
    Written written;
    all_of(make_step_part(made.facts), made, calls, written);
    CHECK(written.ask("SELECT count(*), min(step) FROM phase") == "5 2");
}

TEST_CASE("a whole step before what is gone keeps its phases", "[step_part]") {
    StepFacts made;
    std::vector<Call> calls = calls_of(0, 0);
    calls.push_back(gone(kNoLane, 100, 110));
    for (const Call& call : calls_of(110, 1)) calls.push_back(call);
    Written written;
    all_of(make_step_part(made.facts), made, calls, written);
    CHECK(written.ask("SELECT count(*), max(step) FROM phase") == "5 0");
}

TEST_CASE("slices of a run have no phases", "[step_part]") {
    StepFacts made;
    made.facts.are_slices = true;
    Written written;
    all_of(make_step_part(made.facts), made, calls_of(0, 0), written);
    CHECK(written.ask("SELECT count(*) FROM phase") == "0");
}

TEST_CASE("names of ranges that are phases", "[phase_words]") {
    const auto named = [](const char* name) {
        const auto kind = phase_named(name);
        return kind ? in_words(*kind) : std::string_view("none");
    };
    CHECK(named("forward") == "forward");
    CHECK(named("## Forward ##") == "forward");
    CHECK(named("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__") == "input");
    CHECK(named("DataLoader.next") == "input");
    CHECK(named("Optimizer.step#Adam.step") == "optimizer");
    CHECK(named("Optimizer.zero_grad#Adam.zero_grad") == "none");
    CHECK(named("forward_backward") == "none");
    CHECK(named("forwarding") == "none");
    CHECK(named("grad_comm") == "communication");
    CHECK(named("step 5") == "none");
}

}  // namespace step_part_test
