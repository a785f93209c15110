// Rules about collectives: what ranks send each other, and how much of it the GPUs wait for.
#include <catch2/catch.hpp>

#include "run_rows.h"

namespace rule_collectives_test {

using namespace made;

namespace {

constexpr int64_t kStepNs = 20 * kMs;
constexpr double kGiven = 200e9;  // bytes per second

struct Calls {
    int64_t bytes, in_a_step, each_ns;
    std::optional<int64_t> expected_ns = {};
    const char* op = "allreduce";
    std::optional<double> bandwidth = kGiven;
    const char* efficiency_by = "bandwidth";
};

void add_calls(RunRows& run, const Calls& calls) {
    const int64_t count = calls.in_a_step * RunRows::kSteps;
    run.add("collective_stat", {{"comm", "c0"},
                                {"op", calls.op},
                                {"dtype", "float32"},
                                {"bytes", calls.bytes},
                                {"ranks", 2},
                                {"count", count},
                                {"in_steps", count},
                                {"timed", count},
                                {"complete", count},
                                {"whole_bytes", calls.bytes},
                                {"transfer_sum_ns", count * calls.each_ns},
                                {"expected_ns", maybe(calls.expected_ns)},
                                {"bandwidth_bytes_per_s", maybe(calls.bandwidth)},
                                {"efficiency_by", calls.efficiency_by}});
}

// Two ranks, a step of 20 ms of which the last part is a transfer and nothing else; `hidden_ns` of the
// transfers is beside compute.
RunRows two_ranks(int64_t exposed_ns, int64_t hidden_ns = 0, int64_t other_ns = 0) {
    RunRows run;
    for (const int64_t rank : {0, 1})
        run.rank(rank).steps(rank, {.ran = {{kTransfer, exposed_ns},
                                            {kCompute | kTransfer, hidden_ns},
                                            {kH2d, other_ns},
                                            {kCompute, kStepNs - exposed_ns - hidden_ns - other_ns}}});
    return run;
}

int64_t of_step(double share) { return static_cast<int64_t>(share * static_cast<double>(kStepNs)); }

bool has_evidence(const Finding& finding, const std::string& table) {
    for (const Evidence& row : finding.evidence)
        if (row.table == table) return true;
    return false;
}

}  // namespace

TEST_CASE("nothing is said of a healthy job of two ranks", "[rule][rule_collectives]") {
    RunRows run = two_ranks(200 * kUs, 2 * kMs);
    add_calls(run, {25'000'000, 4, 130 * kUs, 125 * kUs});
    add_calls(run, {4, 1, 20 * kUs});
    run.add("allreduce_check", {{"params", 25'000'000}, {"params_implied", 25e6}, {"ratio_to_params", 1.0}});
    run.add("communicator", {{"comm", "c0"},
                             {"ranks", 2},
                             {"link", "nvlink"},
                             {"slow_link", 0},
                             {"link_bytes_per_s", 300e9},
                             {"best_bytes_per_s", 300e9}});
    run.add("skew", {{"comm", "c0"}, {"steps", 20}, {"lost_gpu_ns", 100 * kUs}});
    CHECK(run.said() == "");
}

//  a step      compute 16 | transfer 4, all exposed; half of it should not be
TEST_CASE("twice the parameters are reduced", "[rule][rule_collectives]") {
    RunRows run = two_ranks(4 * kMs);
    add_calls(run, {200'000'000, 2, 2 * kMs, 2 * kMs});
    run.add("allreduce_check", {{"params_implied", 100e6}});
    CHECK(!run.look("redundant_collectives"));  // nobody said how many parameters there are
    const auto found = run.look("redundant_collectives", {.params = 50'000'000});
    REQUIRE(found);
    CHECK(found->title == "each step reduces 2.0 times the model's parameters, in 2 calls");
    CHECK(found->gain.low_ns == Approx(2e6));
    CHECK(found->gain.high_ns == Approx(2e6));
    CHECK(has_evidence(*found, "allreduce_check"));
    CHECK(has_evidence(*found, "collective_stat"));
    // Parameters that are gathered again for the backward pass are 1.5 times.
    CHECK(!run.look("redundant_collectives", {.params = 66'000'000}));
}

//  a step   |fwd|bwd  |fwd|bwd  |opt|     gradients are reduced behind each forward
//                 ccc       ccc
TEST_CASE("gradients of each batch are reduced, where one reduction would do", "[rule][rule_collectives]") {
    const auto run_of = [](int64_t forward_ns, int64_t updates, int64_t calls, int64_t first_ns = 2 * kMs) {
        RunRows run = two_ranks(4 * kMs);
        add_calls(run, {25'000'000, calls, 4 * kMs / calls, 4 * kMs / calls});
        run.add("allreduce_check", {{"params_implied", 100e6}});
        const auto phase = [&](int64_t step, const char* name, int64_t begin_ns, int64_t ns,
                               int64_t device_ns = kMs) {
            run.add("phase", {{"rank_id", 0},
                              {"step", step},
                              {"name", name},
                              {"begin_ns", step * kStepNs + begin_ns},
                              {"dur_ns", ns},
                              {"device_ns", device_ns}});
        };
        for (int64_t step = 0; step < RunRows::kSteps; ++step) {
            for (const int64_t batch : {0, 1}) {
                phase(step, "forward", batch * 8 * kMs, forward_ns);
                phase(step, "communication", batch * 8 * kMs + 4 * kMs, 4 * kMs,
                      batch == 0 ? first_ns : 2 * kMs);
            }
            for (int64_t update = 0; update < updates; ++update)
                phase(step, "optimizer", 16 * kMs + update * kMs, kMs);
        }
        return run;
    };
    const auto found = run_of(3 * kMs, 1, 4).look("redundant_collectives");
    REQUIRE(found);
    CHECK(found->title ==
          "each of 2 batches of a step reduces as much as the others, in 4 calls together: of gradients, one "
          "reduction behind the last batch would do");
    CHECK(found->gain.low_ns == 0);
    CHECK(found->gain.high_ns == Approx(2e6));
    CHECK(!run_of(6 * kMs, 1, 4).look("redundant_collectives"));  // also beside a forward: of activations
    CHECK(!run_of(3 * kMs, 2, 4).look("redundant_collectives"));  // each batch updates
    CHECK(!run_of(3 * kMs, 1, 5).look("redundant_collectives"));
    CHECK(!run_of(3 * kMs, 1, 4, 10 * kUs).look("redundant_collectives"));  // a loss; gradients in buckets
}

TEST_CASE("redundant collectives are worth it by what is too much", "[rule][rule_collectives]") {
    CHECK(is_ramped("redundant_collectives", [](double share) {
        RunRows run = two_ranks(of_step(2 * share));
        add_calls(run, {200'000'000, 1, of_step(2 * share)});
        run.add("allreduce_check", {{"params", 50'000'000}, {"ratio_to_params", 2.0}});
        return run;
    }));
}

//  50 calls of 80 kB: 10.4 us each, of which 0.4 us are data at 200 GB/s. One call of 4 MB: 10 + 20 us
TEST_CASE("a call for each layer costs a latency for each layer", "[rule][rule_collectives]") {
    RunRows run = two_ranks(520 * kUs);
    add_calls(run, {80'000, 50, 10'400});
    const auto found = run.look("small_collectives");
    REQUIRE(found);
    CHECK(found->title ==
          "50 calls of 80.0 kB each reduce 4.00 MB a step and take 520 us, which is mostly latency");
    CHECK(found->gain.high_ns == Approx(490e3));  // 49 of 50 latencies
    CHECK(found->gain.low_ns == Approx(245e3));
    CHECK(has_evidence(*found, "collective_stat"));
}

TEST_CASE("few calls, large calls and calls that reduce nothing are not put together",
          "[rule][rule_collectives]") {
    RunRows run = two_ranks(2 * kMs);
    add_calls(run, {80'000, 1, 1 * kMs});
    add_calls(run, {2'000'000, 50, 20 * kUs});
    CHECK(!run.look("small_collectives"));
    add_calls(run, {80'000, 50, 20 * kUs, {}, "broadcast"});
    CHECK(!run.look("small_collectives"));
}

TEST_CASE("small collectives are worth it by their latency", "[rule][rule_collectives]") {
    CHECK(is_ramped("small_collectives", [](double share) {
        RunRows run = two_ranks(of_step(share));
        add_calls(run, {4096, 100, of_step(share) / 100});
        return run;
    }));
}

//  46.76 MB at 200 GB/s: 0.234 ms, measured 0.935; 11,689,512 parameters x 4 are the same bytes
TEST_CASE("AllReduce takes longer than its bytes and the bandwidth say", "[rule][rule_collectives]") {
    RunRows run = two_ranks(935 * kUs);
    add_calls(run, {46'758'048, 1, 935 * kUs, 935 * kUs, "allreduce", 50e9});
    CHECK(!run.look("slow_allreduce"));  // as expected by what was measured
    const auto found = run.look("slow_allreduce", {.params = 11'689'512, .bandwidth_bytes_per_s = kGiven});
    REQUIRE(found);
    CHECK(found->title ==
          "AllReduce takes 935 us of a step, not counting waits for other ranks; for its bytes at 200 GB/s "
          "it should take 234 us; 11,689,512 parameters x 4 bytes at 200 GB/s are 234 us");
    CHECK(found->gain.high_ns == Approx(935e3 * 3 / 4));
    CHECK(found->gain.low_ns == Approx(935e3 * (1 - 0.25 / 0.8)));
    CHECK(has_evidence(*found, "collective_stat"));
}

TEST_CASE("what is nearly as quick as expected, small, or too uneven to judge is not called slow",
          "[rule][rule_collectives]") {
    RunRows run = two_ranks(4 * kMs);
    add_calls(run, {100'000'000, 1, 1 * kMs, 810 * kUs});
    add_calls(run, {100'000, 10, 100 * kUs, 10 * kUs});
    add_calls(run, {50'000'000, 1, 2 * kMs, 250 * kUs, "allreduce", kGiven, "spread"});
    CHECK(!run.look("slow_allreduce"));
}

TEST_CASE("a slow AllReduce is worth it by what is above what is expected", "[rule][rule_collectives]") {
    CHECK(is_ramped("slow_allreduce", [](double share) {
        RunRows run = two_ranks(of_step(2 * share));
        add_calls(run, {100'000'000, 1, of_step(2 * share), of_step(share)});
        return run;
    }));
}

//  a step      compute 15 | transfer 4 | waits 1       one bucket of 25 MB of four stays: 3 to 4
TEST_CASE("transfers that nothing hides, apart from what is waited for ranks", "[rule][rule_collectives]") {
    RunRows run;
    for (const int64_t rank : {0, 1})
        run.rank(rank).steps(
            rank, {.ran = {{kCompute, 15 * kMs}, {kTransfer, 4 * kMs}, {kWaiting, rank == 0 ? kMs : 0}},
                   .idle = {{"launch_latency", rank == 0 ? 0 : kMs}}});
    add_calls(run, {100'000'000, 1, 4 * kMs, 4 * kMs});
    const auto found = run.look("exposed_communication");
    REQUIRE(found);
    CHECK(found->title ==
          "the GPU only communicates for 5.00 ms of a step: transfers 4.00 ms, "
          "waiting for other ranks 1.00 ms");
    CHECK(found->gain.high_ns == Approx(4e6));
    CHECK(found->gain.low_ns == Approx(3e6));
    CHECK(found->lead.empty());
    CHECK(has_evidence(*found, "collective_stat"));
}

TEST_CASE("what is behind compute already, or has none to be behind, is not to be hidden",
          "[rule][rule_collectives]") {
    RunRows hidden = two_ranks(100 * kUs, 4 * kMs);
    add_calls(hidden, {100'000'000, 1, 4100 * kUs, 4 * kMs});
    CHECK(!hidden.says("exposed_communication"));
    RunRows only_copies = two_ranks(4 * kMs, 0, 16 * kMs);
    add_calls(only_copies, {100'000'000, 1, 4 * kMs, 4 * kMs});
    CHECK(only_copies.look("exposed_communication")->gain.high_ns == 0);
}

TEST_CASE("overlap is worth it by what is exposed", "[rule][rule_collectives]") {
    CHECK(is_ramped("exposed_communication", [](double share) {
        RunRows run = two_ranks(of_step(share));
        add_calls(run, {100'000'000, 1, of_step(share), of_step(share)});
        return run;
    }));
}

TEST_CASE("what a transfer takes beyond its need is no gain of overlap", "[rule][rule_collectives]") {
    RunRows run = two_ranks(4 * kMs);
    add_calls(run, {100'000'000, 1, 4 * kMs, 1 * kMs});
    CHECK(run.look("slow_allreduce")->gain.high_ns == Approx(3e6));
    CHECK(run.look("exposed_communication")->gain.high_ns == Approx(1e6));
    // 4 ms of a step they run and nothing computes: not so long.
    CHECK(run.look("exposed_communication")->lead == "transfers run alone that could run behind compute");
}

//  a step      compute 10 | transfer 10: 19 times the samples, and 10 of 200 are exposed
TEST_CASE("communication is too large for the step", "[rule][rule_collectives]") {
    RunRows run = two_ranks(10 * kMs);
    add_calls(run, {2'000'000'000, 1, 10 * kMs, 10 * kMs});
    const auto found = run.look("large_communication");
    REQUIRE(found);
    CHECK(found->title ==
          "communication takes 10.0 ms of a step of 20.0 ms, compute 10.0 ms; with 19 times as many samples "
          "per reduction, exposed communication would be below 5 %");
    CHECK(found->gain.high_ns == Approx(10e6 * (1 - 1.0 / 19)));
    CHECK(found->gain.low_ns == Approx(10e6 * (1 - 1.0 / 3)));  // memory holds three times as much
    // Less than half of compute: overlap will do.
    RunRows small = two_ranks(6 * kMs);
    add_calls(small, {2'000'000'000, 1, 6 * kMs, 6 * kMs});
    CHECK(!small.look("large_communication"));
}

// Exposed by E of R + E, up to m = 19 E / R times the samples save E (1 - 1/m) = E - R/19.
TEST_CASE("a larger batch is worth it by what is above 5 % exposed", "[rule][rule_collectives]") {
    CHECK(is_ramped("large_communication", [](double share) {
        const int64_t exposed_ns = of_step((share + 1.0 / 19) / (20.0 / 19));
        RunRows run = two_ranks(exposed_ns, 12 * kMs);
        add_calls(run, {2'000'000'000, 1, exposed_ns + 12 * kMs, exposed_ns + 12 * kMs});
        return run;
    }));
}

TEST_CASE("gradients in 32 bits of a model in 16 are too wide", "[rule][rule_collectives]") {
    const auto made = [](const char* precision, int64_t bytes, int64_t exposed_ns) {
        RunRows run = two_ranks(exposed_ns, 4 * kMs);
        add_calls(run, {bytes, 4, (exposed_ns + 4 * kMs) / 4, {}, "allreduce", {}});
        run.add("kernel", {{"gpu_id", 0},
                           {"name", "gemm"},
                           {"family", "gemm"},
                           {"precision", precision},
                           {"sum_ns", 10 * kMs}});
        return run;
    };
    CHECK(made("fp16", 25'000'000, 2 * kMs).says("wide_gradients"));
    CHECK(made("bf16", 25'000'000, 2 * kMs).says("wide_gradients"));
    CHECK_FALSE(made("fp32", 25'000'000, 2 * kMs).says("wide_gradients"));
    CHECK_FALSE(made("fp16", 100'000, 2 * kMs).says("wide_gradients"));  // latency decides, not bytes
    CHECK(made("fp16", 25'000'000, 2 * kMs)
              .look("wide_gradients")
              ->title.find("100 MB of a step are reduced in 32") != std::string::npos);
    const Gain gain = made("fp16", 25'000'000, 2 * kMs).look("wide_gradients")->gain;
    CHECK(gain.high_ns == Approx(2 * kMs));  // half of 6 ms is more than what is exposed
    CHECK(gain.low_ns < gain.high_ns);
    CHECK(
        is_ramped("wide_gradients", [&](double share) { return made("fp16", 25'000'000, of_step(share)); }));
}

//  step   gather fwd gather bwd scatter        weights are no gradients, and nobody adds them up
TEST_CASE("collectives are called what they are", "[rule][rule_collectives]") {
    RunRows run = two_ranks(8 * kMs);
    add_calls(run, {32'000'000, 4, kMs, 100 * kUs, "allgather", {}});
    add_calls(run, {16'000'000, 4, kMs, 100 * kUs, "reducescatter", {}});
    run.add(
        "kernel",
        {{"gpu_id", 0}, {"name", "gemm"}, {"family", "gemm"}, {"precision", "fp16"}, {"sum_ns", 10 * kMs}});
    const Finding wide = run.look("wide_gradients").value();
    CHECK(wide.title.find("128 MB of a step are gathered in 32, and 64.0 MB reduced") != std::string::npos);
    REQUIRE(wide.heading != nullptr);
    CHECK(std::string(wide.heading->change) == "weights and gradients in 16 bits");
    const Finding slow = run.look("slow_allreduce").value();
    CHECK(slow.title.find("AllReduce") == std::string::npos);
    CHECK(slow.title.find("AllGather") != std::string::npos);
    CHECK(slow.title.find(" and ") != std::string::npos);
    REQUIRE(slow.heading != nullptr);
    CHECK(std::string(slow.heading->title).find("AllReduce") == std::string::npos);
}

// Between hosts whose clocks cannot be compared nobody knows whether a message is under way or awaited.
TEST_CASE("of messages transfers and waits are told apart where both ends are known",
          "[rule][rule_collectives]") {
    const auto title = [](const Value& wait_ns) {
        RunRows run = two_ranks(8 * kMs, 0);
        for (const int64_t rank : {0, 1})
            run.add("collective_instance", {{"instance", 0},
                                            {"rank_id", rank},
                                            {"op", "send"},
                                            {"ranks", 2},
                                            {"parts", 2},
                                            {"own_ns", 8 * kMs},
                                            {"wait_ns", wait_ns}});
        return run.look("exposed_communication").value().title;
    };
    CHECK(
        title(int64_t{0}) ==
        "GPUs only communicate for up to 8.00 ms of a step: transfers 8.00 ms, waiting for other ranks 0 ns");
    CHECK(
        title(nullptr).find("is not known, for it is not known when the other ends of its messages began") !=
        std::string::npos);
}

// What grows with the samples is not less with more of them.
TEST_CASE("exchanges of all with all are exposed, and not too much for the work",
          "[rule][rule_collectives]") {
    RunRows run = two_ranks(8 * kMs);
    add_calls(run, {.bytes = 64 << 20, .in_a_step = 4, .each_ns = 2 * kMs, .op = "alltoall"});
    const auto found = run.look("exposed_communication");
    REQUIRE(found);
    CHECK(found->title.find("transfers 8.00 ms, waiting for other ranks 0 ns") != std::string::npos);
    CHECK(!run.look("large_communication"));
    add_calls(run, {.bytes = 32 << 20, .in_a_step = 4, .each_ns = 2 * kMs});
    CHECK(run.look("large_communication"));
}

// Of 4 ranks one: 16 MB in 8 ms by an all-reduce is 1.5 times as much on the bus. Small ones say nothing, nor
// messages to one other, nor what lies in no step that counts: a start-up takes long.
TEST_CASE("where waits are not known, the rate with them is said", "[rule][rule_collectives]") {
    RunRows run;
    run.rank(0).steps(0, {.ran = {{kTransfer, 8 * kMs}, {kCompute, 12 * kMs}}});
    const auto call = [&](int64_t instance, const char* op, int64_t bytes, int64_t step = 1) {
        run.add("collective_instance", {{"instance", instance},
                                        {"rank_id", 0},
                                        {"op", op},
                                        {"step", step},
                                        {"ranks", 4},
                                        {"parts", 1},
                                        {"whole_bytes", bytes},
                                        {"own_ns", 8 * kMs}});
    };
    const auto title = [&] { return run.look("exposed_communication").value().title; };
    call(0, "allreduce", 4096);
    call(1, "send", 16 << 20);
    call(3, "allreduce", 16 << 20, -1);
    CHECK(title().find("of bus") == std::string::npos);
    CHECK(run.look("exposed_communication")->try_it.find("nccl-tests") == std::string::npos);
    call(2, "allreduce", 16'000'000);
    CHECK(
        title() ==
        "the GPU only communicates for 8.00 ms of a step (large messages: 3.00 GB/s of bus, waits included); "
        "how much of that is waiting for other ranks is not known, for these are not in this run");
    CHECK(run.look("exposed_communication")->try_it.find("nccl-tests") != std::string::npos);
}

// The step is as long as one of them makes it, which may be another than has most transfers.
TEST_CASE("of several GPUs' transfers those of one are not said to be of the GPU",
          "[rule][rule_collectives]") {
    RunRows run;
    run.rank(0).rank(1);
    run.steps(0, {.ran = {{kCompute, 4 * kMs}, {kTransfer, 8 * kMs}}});
    run.steps(1, {.ran = {{kCompute, 8 * kMs}, {kTransfer, 6 * kMs}}});
    const auto title = [&] { return run.look("exposed_communication").value().title; };
    CHECK(title().starts_with("GPUs only communicate for up to 8.00 ms of a step"));
    run.change("DELETE FROM gpu WHERE gpu_id = 1");
    CHECK(title().starts_with("the GPU only communicates for"));
}

}  // namespace rule_collectives_test
