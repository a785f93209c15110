// Rules about ranks and GPUs beside each other: who makes the others wait, and who works when.
#include <catch2/catch.hpp>
#include <tuple>

#include "run_rows.h"

namespace rule_ranks_test {

using namespace made;

namespace {

constexpr int64_t kStepNs = 20 * kMs;

int64_t of_step(double share) { return static_cast<int64_t>(share * static_cast<double>(kStepNs)); }

// Rank 1 works all of the step, rank 0 waits for it.
RunRows late_rank(int64_t late_ns, const char* cause = "compute") {
    RunRows run;
    run.rank(0).rank(1);
    run.steps(0, {.ran = {{kCompute, kStepNs - late_ns}, {kWaiting, late_ns}}});
    run.steps(1, {.ran = {{kCompute, kStepNs}}});
    run.add("skew", {{"comm", "c0"},
                     {"steps", RunRows::kSteps},
                     {"lost_gpu_ns", late_ns * RunRows::kSteps},
                     {"mirror_disagreement", 0.01},
                     {"straggler_rank", 1},
                     {"time_saved_per_step_ns", late_ns},
                     {"cause", cause},
                     {"cause_share", 0.95}});
    for (const int64_t rank : {0, 1})
        run.add("skew_rank", {{"comm", "c0"}, {"comm_rank", rank}, {"rank_id", rank}});
    return run;
}

// One process whose GPU 0 computes so much longer; GPU 1 waits for it.
RunRows loaded_first(int64_t more_ns, int64_t processes = 1) {
    RunRows run;
    run.process(0).gpu(0, 0);
    if (processes > 1) run.process(1);
    run.gpu(1, processes - 1);
    const int64_t alike_ns = kStepNs - more_ns;
    run.steps(0, {.ran = {{kCompute, kStepNs}}});
    run.steps(1, {.ran = {{kCompute, alike_ns}, {kWaiting, processes > 1 ? more_ns : 0}},
                  .idle = {{"wait_other_gpu", processes > 1 ? 0 : more_ns}}});
    run.add("first_gpu", {{"gpu_id", 0},
                          {"excess", static_cast<double>(more_ns) / static_cast<double>(alike_ns)},
                          {"only_kernels", 1},
                          {"names", "softmax_loss"},
                          {"p2p_bytes", RunRows::kSteps * 60'000'000}});
    return run;
}

// Two GPUs of which one works at a time, for so much of the step, and both together the rest.
RunRows one_by_one(int64_t alone_ns, double index) {
    RunRows run;
    run.process(0).gpu(0, 0).gpu(1, 0);
    for (const int64_t gpu : {0, 1})
        run.steps(gpu, {.ran = {{kCompute, kStepNs - alone_ns}}, .idle = {{"wait_other_gpu", alone_ns}}});
    for (int64_t step = 0; step < RunRows::kSteps; ++step)
        run.add("across", {{"step", step}, {"gpus", 2}, {"sequential_index", index}});
    return run;
}

// GPU 1 has nothing to do until its first launch.
RunRows staggered(int64_t late_ns, int64_t launching_ns) {
    RunRows run;
    run.process(0).gpu(0, 0).gpu(1, 0);
    run.steps(0, {.ran = {{kCompute, kStepNs - late_ns}}, .idle = {{"sync", late_ns}}});
    run.steps(1, {.ran = {{kCompute, kStepNs - late_ns}},
                  .idle = {{"launching_other_gpu", launching_ns}, {"host_cpu", late_ns - launching_ns}}});
    run.change("UPDATE gpu_step SET first_launch_ns = " + std::to_string(late_ns) + " WHERE gpu_id = 1");
    for (int64_t step = 0; step < RunRows::kSteps; ++step)
        run.add("across", {{"step", step}, {"gpus", 2}, {"stagger_ns", late_ns}, {"first_order", "0,1"}});
    return run;
}

// Two ranks that wait so long in the mean step, in their collectives, and in what nothing else runs beside.
RunRows waiting(int64_t first_ns, int64_t second_ns, int64_t exposed_ns) {
    RunRows run;
    run.rank(0).rank(1);
    run.add("skew", {{"comm", "c"}, {"steps", RunRows::kSteps}});
    for (const int64_t rank : {0, 1}) {
        run.steps(rank, {.ran = {{kCompute, kStepNs - exposed_ns}, {kWaiting, exposed_ns}}});
        run.add("skew_rank", {{"comm", "c"},
                              {"comm_rank", rank},
                              {"rank_id", rank},
                              {"wait_ns", RunRows::kSteps * (rank == 0 ? first_ns : second_ns)}});
    }
    return run;
}

// Two ranks of 20 ms of which the first computes so long, and waits for messages of the second for the rest.
// In each step.
void wait_for_message(RunRows& run, int64_t rank, int64_t ns, const char* op = "send") {
    for (int64_t step = 0; step < RunRows::kSteps; ++step)
        run.add("collective_instance", {{"instance", step},
                                        {"rank_id", rank},
                                        {"op", op},
                                        {"step", step},
                                        {"gpu_id", rank},
                                        {"wait_ns", ns}});
}

RunRows exchanging(int64_t first_ns, int64_t second_ns, const char* op = "send") {
    RunRows run;
    run.rank(0).rank(1);
    for (const int64_t rank : {0, 1}) {
        const int64_t ns = rank == 0 ? first_ns : second_ns;
        run.steps(rank, {.ran = {{kCompute, ns}, {kWaiting, kStepNs - ns}}});
        wait_for_message(run, rank, kStepNs - ns, op);
    }
    run.add("collective_stat", {{"op", op}});
    return run;
}

}  // namespace

TEST_CASE("the straggler is named with its cause, and what helps depends on that", "[rule][rule_ranks]") {
    const auto found = late_rank(4 * kMs).look("straggler");
    REQUIRE(found);
    CHECK(found->title ==
          "rank 1 makes the others wait: its kernels take 1.2 times as long; were it as fast as they, each "
          "step "
          "would be up to 4.00 ms shorter");
    CHECK(late_rank(kMs / 2).look("straggler")->title.find("its kernels take longer;") != std::string::npos);
    RunRows replayed = late_rank(4 * kMs);
    replayed.change("UPDATE skew SET least_saved_per_step_ns = 3000000, most_saved_per_step_ns = 4500000");
    CHECK(replayed.look("straggler")->title.find("would be 3.00 ms to 4.50 ms shorter") != std::string::npos);
    CHECK(replayed.look("straggler")->gain.low_ns == Approx(3e6));
    CHECK(replayed.look("straggler")->gain.high_ns == Approx(4.5e6));
    CHECK(found->try_it.find("batches of equal length") != std::string::npos);
    CHECK(found->gain.low_ns == Approx(4e6));
    CHECK(found->gain.high_ns == Approx(4e6));
    CHECK(found->confidence == Approx(0.9));
    CHECK(found->evidence.size() == 2);
    CHECK(late_rank(4 * kMs, "input").look("straggler")->try_it.find("equal size") != std::string::npos);
    CHECK(late_rank(4 * kMs, "clocks").look("straggler")->try_it.find("nvidia-smi") != std::string::npos);
    const auto other = late_rank(4 * kMs, "other_work").look("straggler");
    CHECK(other->title.find("it does other work than they: its kernels take 1.2 times as long") !=
          std::string::npos);
    CHECK(other->try_it.find("Give that rank less") != std::string::npos);
    const auto unknown = late_rank(4 * kMs, "unattributed").look("straggler");
    CHECK(unknown->title.find("no single cause") != std::string::npos);
    CHECK(unknown->confidence == Approx(0.5));
}

TEST_CASE("waits that no rank is to blame for name no straggler", "[rule][rule_ranks]") {
    RunRows run = late_rank(4 * kMs);
    run.change("UPDATE skew SET straggler_rank = NULL, time_saved_per_step_ns = NULL");
    CHECK(!run.look("straggler"));
    // For a while it was one: 10 steps of 20, 4 ms each.
    run.add("straggler_window",
            {{"comm", "c0"}, {"first_step", 5}, {"last_step", 14}, {"comm_rank", 1}, {"saved_ns", 40 * kMs}});
    const auto found = run.look("straggler");
    REQUIRE(found);
    CHECK(found->title.find("rank 1 makes the others wait, most in steps 5 to 14") == 0);
    CHECK(found->gain.low_ns == 0);
    CHECK(found->gain.high_ns == Approx(2e6));
    // A mean of the steps in which ranks could be compared: where only these 10 were timed, all of them.
    run.change("UPDATE skew SET steps = 10");
    CHECK(run.look("straggler")->gain.high_ns == Approx(4e6));
}

//  rank 0   19 steps of 10 ms, one of 10 and 40 alone, for which rank 1 waits in the next one
TEST_CASE("a rank that does more in some steps is named with them", "[rule][rule_ranks]") {
    const auto run_of = [](int64_t more_ns, const char* collectives) {
        RunRows run;
        run.rank(0).rank(1);
        if (*collectives != 0) run.add("skew", {{"comm", collectives}, {"steps", RunRows::kSteps}});
        for (int64_t step = 0; step < RunRows::kSteps; ++step) {
            const int64_t other_ns =
                step % 2 == 0 ? 100 * kUs : 0;  // rank 1 has a little more in every second
            run.step(0, step, {.ran = {{kCompute, 10 * kMs + (step == 8 ? more_ns : 0)}}});
            run.step(1, step,
                     {.ran = {{kCompute, 10 * kMs + other_ns}, {kWaiting, step == 9 ? more_ns : 0}}});
        }
        return run;
    };
    const auto found = run_of(40 * kMs, "c").look("straggler");
    REQUIRE(found);
    CHECK(found->title ==
          "rank 0 makes the others wait in some steps, most of it in 1 of 20 steps; the longest, 39.9 ms, in "
          "step 8: it does what they do not, or its host pauses");
    CHECK(found->in_some_steps);
    CHECK(found->gain.high_ns == Approx(39.9e6 / 20));
    CHECK(found->gain.low_ns == Approx(39.9e6 / 40));
    // What one rank does in some steps looks like other work all the time, and does not hide behind less.
    for (const auto& [cause, saved_ns, in_some] : {std::tuple{"other_work", 3 * kMs, true},
                                                   {"compute", kMs / 10, true},
                                                   {"compute", 3 * kMs, false}}) {
        RunRows steady = run_of(40 * kMs, "c");
        steady.change("UPDATE skew SET straggler_rank = 1, lost_gpu_ns = 1, cause_share = 0.95, cause = '" +
                      std::string(cause) + "', time_saved_per_step_ns = " + std::to_string(saved_ns));
        for (const int64_t rank : {0, 1})
            steady.add("skew_rank", {{"comm", "c"}, {"comm_rank", rank}, {"rank_id", rank}});
        CHECK(steady.look("straggler")->in_some_steps == in_some);
    }
    CHECK(!run_of(40 * kMs, "").look("straggler"));    // they never meet
    CHECK(!run_of(500 * kUs, "c").look("straggler"));  // what rank 1 has more is as much
}

TEST_CASE("a straggler is worth it by what it costs", "[rule][rule_ranks]") {
    CHECK(is_ramped("straggler", [](double share) { return late_rank(of_step(share)); }));
}

//  GPU 0   ████████████████████ 20, 4 of it alone
//  GPU 1   ████████████████····
TEST_CASE("the first GPU does more than the others: what that costs", "[rule][rule_ranks]") {
    const auto found = loaded_first(4 * kMs).look("first_gpu");
    REQUIRE(found);
    CHECK(found->title ==
          "the first GPU computes 25 % longer than the others, 4.00 ms of a step: 1 kernel that "
          "no other GPU runs and 60.0 MB copied between it and other GPUs");
    CHECK(found->try_it.find("one process for each GPU") != std::string::npos);
    CHECK(found->gain.high_ns == Approx(4e6));
    CHECK(found->gain.low_ns == Approx(2e6));  // spread over two, half of it stays
    CHECK(found->evidence.size() == 1);
    CHECK(loaded_first(4 * kMs, 2).look("first_gpu")->try_it.find("evaluation split over ranks") !=
          std::string::npos);
}

TEST_CASE("GPUs alike have no first one", "[rule][rule_ranks]") {
    RunRows run = loaded_first(4 * kMs);
    run.change("DELETE FROM first_gpu");
    CHECK(!run.look("first_gpu"));
}

TEST_CASE("a first GPU is worth it by what it does more", "[rule][rule_ranks]") {
    CHECK(is_ramped("first_gpu", [](double share) { return loaded_first(of_step(share)); }));
}

//  GPU 0   ██████████··········       10 each, one after the other: 10 if both at once,
//  GPU 1   ··········██████████       15 in a pipeline of two micro-batches
TEST_CASE("GPUs that work one after another", "[rule][rule_ranks]") {
    const auto found = one_by_one(10 * kMs, 1).look("sequential_gpus");
    REQUIRE(found);
    CHECK(found->title ==
          "2 GPUs work one after another: 100 % of what could overlap does not; together they are busy for "
          "20.0 ms of a step, the busiest alone 10.0 ms");
    CHECK(found->gain.high_ns == Approx(10e6));
    CHECK(found->gain.low_ns == Approx(5e6));
    CHECK(found->evidence.size() == 3);
}

TEST_CASE("GPUs that work together for the most part are not one after another", "[rule][rule_ranks]") {
    CHECK(!one_by_one(4 * kMs, 0.79).look("sequential_gpus"));
    CHECK(!one_by_one(4 * kMs, 0.05).look("sequential_gpus"));
    RunRows one;  // GPU
    one.rank(0).steps(0, {.ran = {{kCompute, 10 * kMs}}, .idle = {{"sync", 10 * kMs}}});
    CHECK(!one.look("sequential_gpus"));
}

// One after another for all that they do: what is gained is what the second one does.
TEST_CASE("one after another is worth it by what the others do meanwhile", "[rule][rule_ranks]") {
    CHECK(is_ramped("sequential_gpus", [](double share) {
        RunRows run;
        run.process(0).gpu(0, 0).gpu(1, 0);
        const int64_t second_ns = of_step(share);
        run.steps(0, {.ran = {{kCompute, kStepNs - second_ns}}, .idle = {{"wait_other_gpu", second_ns}}});
        run.steps(1, {.ran = {{kCompute, second_ns}}, .idle = {{"wait_other_gpu", kStepNs - second_ns}}});
        for (int64_t step = 0; step < RunRows::kSteps; ++step)
            run.add("across", {{"step", step}, {"gpus", 2}, {"sequential_index", 1.0}});
        return run;
    }));
}

//  GPU 0   ████████████████····
//  GPU 1   ····████████████████       3 of the 4 while the thread launches for GPU 0
TEST_CASE("one thread launches for one GPU after the other", "[rule][rule_ranks]") {
    const auto found = staggered(4 * kMs, 3 * kMs).look("staggered_launches");
    REQUIRE(found);
    CHECK(found->title ==
          "one process launches for its GPUs one after another: the last starts 4.00 ms into a "
          "step after the first");
    CHECK(found->try_it.find("a thread, for each GPU") != std::string::npos);
    CHECK(found->gain.high_ns == Approx(4e6));
    CHECK(found->gain.low_ns == Approx(3e6));
    CHECK(found->evidence.size() >= 3);
}

//  rank 0   ████████▒▒▒▒|██████████████|
//  rank 1   ████████████|████████▒▒▒▒▒▒|
TEST_CASE("of two that exchange messages one has more to do", "[rule][rule_ranks]") {
    const auto found = exchanging(10 * kMs, 19 * kMs).look("message_waits");
    REQUIRE(found);
    CHECK(found->title ==
          "rank 1 computes 19.0 ms of a step, and the others, which wait for messages, "
          "10.0 ms on average");
    CHECK(found->gain.low_ns == Approx(2.25e6));  // half of what it has beyond their mean of 14.5
    CHECK(found->gain.high_ns == Approx(4.5e6));
    CHECK(!exchanging(10 * kMs, 19 * kMs, "allreduce").look("message_waits"));
    // Two replicas of a pipeline: both of their second stages.
    RunRows twice = exchanging(10 * kMs, 19 * kMs);
    twice.rank(2).rank(3);
    for (const int64_t rank : {2, 3}) {
        const int64_t ns = rank == 2 ? 10 * kMs : 19 * kMs;
        twice.steps(rank, {.ran = {{kCompute, ns}, {kWaiting, kStepNs - ns}}});
        wait_for_message(twice, rank, kStepNs - ns);
    }
    const auto both = twice.look("message_waits");
    REQUIRE(both);
    CHECK(both->title.find("rank 1 and rank 3 compute 19.0 ms of a step") == 0);
    CHECK(both->gain.high_ns == Approx(4.5e6));
}

TEST_CASE("a pipeline in which all have as much to do fills and empties", "[rule][rule_ranks]") {
    const auto found = exchanging(13 * kMs, 14 * kMs).look("message_waits");
    REQUIRE(found);
    CHECK(found->title.find("each of 2 ranks waits at least 6.00 ms of a step for messages") == 0);
    CHECK(found->gain.low_ns == 0);
    CHECK(found->gain.high_ns == Approx(4.5e6));
    CHECK(found->title.find("; rank") == std::string::npos);  // none has much more
    // Of what they wait only a part is for messages.
    RunRows both = exchanging(13 * kMs, 14 * kMs);
    both.change("UPDATE collective_instance SET wait_ns = 4000000");
    CHECK(both.look("message_waits")->title.find("waits at least 4.00 ms") != std::string::npos);
    // One has more, and both wait for longer than that is.
    const auto more = exchanging(8 * kMs, 12 * kMs).look("message_waits");
    REQUIRE(more);
    CHECK(more->title.find("; rank 1 computes 12.0 ms, the others 8.00 ms on average") != std::string::npos);
    RunRows one_process = exchanging(13 * kMs, 14 * kMs);
    one_process.change("UPDATE gpu SET rank_id = 0");
    CHECK(!one_process.look("message_waits"));
    RunRows turns = exchanging(13 * kMs, 14 * kMs);
    turns.add("across", {{"step", 0}, {"gpus", 2}, {"sequential_index", 0.9}});
    CHECK(!turns.look("message_waits"));
}

TEST_CASE("ranks that wait by turns gain what the one waits that waits least", "[rule][rule_ranks]") {
    CHECK(is_ramped("uneven_work", [](double share) {
        return waiting(of_step(share), 2 * of_step(share), 2 * of_step(share));
    }));
    const auto found = waiting(3 * kMs, 4 * kMs, 4 * kMs).look("uneven_work");
    REQUIRE(found);
    CHECK(found->title ==
          "each of 2 ranks waits for the others, at least 3.00 ms of a step, and none is always the last");
    CHECK(found->gain.low_ns == 0);
    CHECK(found->gain.high_ns == Approx(3e6));
    CHECK(waiting(3 * kMs, 4 * kMs, 2 * kMs).look("uneven_work")->gain.high_ns == Approx(2e6));
    RunRows others = waiting(3 * kMs, 4 * kMs, 4 * kMs);  // of another communicator
    others.rank(2).steps(2, {.ran = {{kCompute, 20 * kMs}}});
    CHECK(others.look("uneven_work"));
    RunRows beside = waiting(3 * kMs, 4 * kMs, 4 * kMs);
    beside.change("UPDATE skew SET straggler_rank = 1");
    CHECK(beside.look("uneven_work")->title.find("none is always") == std::string::npos);
    CHECK(!waiting(0, 4 * kMs, 4 * kMs).look("uneven_work"));  // a straggler
    CHECK(!waiting(3 * kMs, 4 * kMs, 0).look("uneven_work"));  // kernels run beside
    RunRows unknown = waiting(3 * kMs, 4 * kMs, 4 * kMs);
    unknown.change("UPDATE skew_rank SET wait_ns = NULL WHERE comm_rank = 0");
    CHECK(!unknown.look("uneven_work"));
}

TEST_CASE("a thread for each GPU gains nothing while the host waits for another one", "[rule][rule_ranks]") {
    RunRows run = staggered(4 * kMs, kMs / 4);
    CHECK(run.says("staggered_launches"));
    run.change("UPDATE gap SET cause = 'sync_other_gpu' WHERE cause IN ('sync', 'host_cpu')");
    CHECK_FALSE(run.says("staggered_launches"));
}

TEST_CASE("ranks that start late are no GPUs of one process that do", "[rule][rule_ranks]") {
    RunRows run;
    run.rank(0).rank(1);
    for (const int64_t rank : {0, 1})
        run.steps(rank, {.ran = {{kCompute, 16 * kMs}}, .idle = {{"sync", 4 * kMs}}});
    run.change("UPDATE gpu_step SET first_launch_ns = 4000000 WHERE gpu_id = 1");
    CHECK(!run.look("staggered_launches"));
}

TEST_CASE("staggered launches are worth it by what the last one starts late", "[rule][rule_ranks]") {
    CHECK(is_ramped("staggered_launches",
                    [](double share) { return staggered(of_step(share), of_step(share) / 2); }));
}

}  // namespace rule_ranks_test
