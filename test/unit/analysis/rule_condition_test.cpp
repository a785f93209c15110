// Rules about what GPUs and links are like, what is too little for a GPU, and about ourselves.
#include <catch2/catch.hpp>

#include "run_rows.h"

namespace rule_condition_test {

using namespace made;

namespace {

constexpr int64_t kStepNs = 20 * kMs;

int64_t of_step(double share) { return static_cast<int64_t>(share * static_cast<double>(kStepNs)); }

RunRows one_gpu(const StepOf& like = {.ran = {{kCompute, kStepNs}}}) {
    RunRows run;
    run.rank(0).steps(0, like);
    return run;
}

// 100 samples, 10 of them idle; of the rest this share at 1000 MHz in place of 2000.
RunRows throttled(double share, const char* reason, std::optional<double> free_mhz = 2000) {
    RunRows run = one_gpu();
    const auto held = static_cast<int64_t>(share * 90);
    run.add("nvml_stat", {{"gpu_id", 0},
                          {"samples", 100},
                          {"idle_samples", 10},
                          {"throttled_samples", held},
                          {"free_sm_mhz", maybe(free_mhz)},
                          {"throttled_sm_mhz", 1000.0}});
    if (held > 0)
        run.add("throttle", {{"gpu_id", 0}, {"reason", reason}, {"samples", held}, {"sm_mhz", 1000.0}});
    return run;
}

RunRows linked(int64_t exposed_ns, double link, double best, double reached) {
    RunRows run;
    for (const int64_t rank : {0, 1})
        run.rank(rank).steps(rank, {.ran = {{kTransfer, exposed_ns}, {kCompute, kStepNs - exposed_ns}}});
    run.add("communicator", {{"comm", "c0"},
                             {"ranks", 2},
                             {"link", "pcie_host"},
                             {"link_bytes_per_s", link},
                             {"best_bytes_per_s", best}});
    if (exposed_ns == 0) return run;
    const auto bytes = static_cast<int64_t>(reached * static_cast<double>(exposed_ns) / 1e9);
    run.add("collective_stat", {{"comm", "c0"},
                                {"op", "allreduce"},
                                {"dtype", "float32"},
                                {"bytes", bytes},
                                {"whole_bytes", bytes},
                                {"ranks", 2},
                                {"count", RunRows::kSteps},
                                {"timed", RunRows::kSteps},
                                {"transfer_sum_ns", exposed_ns * RunRows::kSteps},
                                {"efficiency_by", "bandwidth"}});
    return run;
}

// Ten kernels of 2 us in 200 us.
StepOf tiny_step() {
    return {.ran = {{kCompute, 20 * kUs}, {kH2d, 40 * kUs}},
            .idle = {{"launch_bound", 60 * kUs},
                     {"launch_latency", 20 * kUs},
                     {"copy_staging", 40 * kUs},
                     {"host_cpu", 20 * kUs}}};
}

void add_launches(RunRows& run, int64_t small) {
    run.add("launch_stat",
            {{"gpu_id", 0}, {"stream_id", 7}, {"count", 200}, {"timed", 200}, {"small", small}});
}

}  // namespace

TEST_CASE("a clock that heat holds back", "[rule][rule_condition]") {
    RunRows run = throttled(0.5, "thermal");
    const auto found = run.look("throttling");
    REQUIRE(found);
    CHECK(found->title ==
          "the clock of GPU 0 of rank 0 is held back by heat, 50 % of the time at 1000 MHz instead of 2000");
    CHECK(found->try_it.find("Improve cooling") == 0);
    CHECK(found->gain.high_ns == Approx(20e6 * 46 / 90 * 0.5));  // 45 of 90 samples, to one of them
    CHECK(found->gain.low_ns == 0);                              // no kernel is known to follow the clock
    CHECK(found->evidence.size() == 2);
    run.add("kernel", {{"gpu_id", 0}, {"name", "gemm"}, {"sum_ns", 300}, {"eligible", 1}});
    run.add("kernel", {{"gpu_id", 0}, {"name", "add"}, {"sum_ns", 100}, {"eligible", 0}});
    CHECK(run.look("throttling")->gain.low_ns == Approx(20e6 * 44 / 90 * 0.5 * 0.75));
}

TEST_CASE("a moment, a clock that is hardly lower, and few samples are no throttling",
          "[rule][rule_condition]") {
    CHECK(!throttled(0, "thermal").look("throttling"));
    CHECK(!throttled(0.04, "thermal").look("throttling"));
    CHECK(!throttled(1, "power_cap", 1040).look("throttling"));
    RunRows few = throttled(1, "thermal");
    few.change("UPDATE nvml_stat SET samples = 14");
    CHECK(!few.look("throttling"));
}

TEST_CASE("what a free clock would be was never seen: a note of a fault, nothing of a power limit",
          "[rule][rule_condition]") {
    const auto fault = throttled(1, "hardware_thermal", {}).look("throttling");
    REQUIRE(fault);
    CHECK(fault->kind == Kind::kNote);
    CHECK(fault->title.find("its full clock was never seen") != std::string::npos);
    CHECK(!throttled(1, "power_cap", {}).look("throttling"));
}

TEST_CASE("throttling is worth it by how much longer kernels take", "[rule][rule_condition]") {
    CHECK(is_ramped("throttling", [](double share) { return throttled(2 * share, "thermal"); }));
}

//  16 GB/s where as many GPUs are joined at 64: a transfer of 4 ms would take 1
TEST_CASE("GPUs that are joined badly though others are joined better", "[rule][rule_condition]") {
    const auto found = linked(4 * kMs, 16e9, 64e9, 12e9).look("slow_link");
    REQUIRE(found);
    CHECK(found->title ==
          "2 GPUs are joined by pcie_host (16.0 GB/s); as many GPUs of these hosts could be joined at 64.0 "
          "GB/s");
    CHECK(found->gain.high_ns == Approx(3e6));
    CHECK(found->gain.low_ns == Approx(3e6 * 0.75));  // it reaches 12 of 16
    CHECK(found->evidence.size() == 2);
    CHECK(!linked(4 * kMs, 16e9, 16e9, 12e9).look("slow_link"));
}

TEST_CASE("a good link that is not used, and the variable that may be why", "[rule][rule_condition]") {
    RunRows run = linked(4 * kMs, 300e9, 300e9, 20e9);
    auto found = run.look("slow_link");
    REQUIRE(found);
    CHECK(found->title == "the GPUs are joined by pcie_host (300 GB/s), and large messages reach 20.0 GB/s");
    CHECK(found->gain.low_ns == 0);
    CHECK(found->gain.high_ns == Approx(4e6 * (1 - 20.0 / 240)));
    run.add("environment", {{"rank_id", 0}, {"name", "NCCL_P2P_DISABLE"}, {"value", "1"}});
    found = run.look("slow_link");
    CHECK(found->title.find("NCCL_P2P_DISABLE=1 is set") != std::string::npos);
    CHECK(found->try_it.find("Unset NCCL_P2P_DISABLE. ") == 0);
    CHECK(!linked(4 * kMs, 40e9, 40e9, 20e9).look("slow_link"));
}

TEST_CASE("a slow link is worth it by what a better one saves", "[rule][rule_condition]") {
    CHECK(is_ramped("slow_link", [](double share) { return linked(of_step(2 * share), 16e9, 32e9, 16e9); }));
}

TEST_CASE("a GPU of which less than half is used in every way", "[rule][rule_condition]") {
    const auto used = [](double time, double power_w, double memory, int64_t samples = 3) {
        RunRows run = one_gpu();
        run.add("nvml_stat", {{"gpu_id", 0},
                              {"samples", samples},
                              {"use_share", time},
                              {"power_w", power_w},
                              {"memory_share_max", memory}});
        run.add("gpu_energy", {{"gpu_id", 0}, {"power_limit_w", 700.0}});
        return run;
    };
    const auto found = used(0.25, 210, 0.01).look("hardly_used");
    REQUIRE(found);
    CHECK(found->kind == Kind::kNote);
    CHECK(
        found->title ==
        "by NVML the GPU that is used most is in use 25 % of the time, draws 30 % of its power, and has 1 % "
        "of its memory taken");
    CHECK(found->evidence.size() == 1);
    CHECK(used(0.49, 340, 0.49).look("hardly_used"));
    CHECK(!used(0.5, 210, 0.01).look("hardly_used"));
    CHECK(!used(0.25, 350, 0.01).look("hardly_used"));
    CHECK(!used(0.25, 210, 0.5).look("hardly_used"));
    CHECK(!used(0.25, 210, 0.01, 2).look("hardly_used"));
}

TEST_CASE("where one GPU is busy, or something of it is not known, none is called hardly used",
          "[rule][rule_condition]") {
    const auto second = [](std::optional<double> time, std::optional<double> limit_w) {
        RunRows run;
        for (const int64_t rank : {0, 1}) {
            run.rank(rank).steps(rank, {.ran = {{kCompute, kStepNs}}});
            run.add("nvml_stat", {{"gpu_id", rank},
                                  {"samples", 3},
                                  {"use_share", rank == 0 ? Value(0.1) : maybe(time)},
                                  {"power_w", 100.0},
                                  {"memory_share_max", 0.1}});
            run.add("gpu_energy",
                    {{"gpu_id", rank}, {"power_limit_w", rank == 0 ? Value(700.0) : maybe(limit_w)}});
        }
        return run;
    };
    CHECK(second(0.2, 700).look("hardly_used"));
    CHECK(!second(0.9, 700).look("hardly_used"));
    CHECK(!second({}, 700).look("hardly_used"));
    CHECK(!second(0.2, {}).look("hardly_used"));
}

// held |▁▂▃▄▅▆▇█|       by quarter of the steps' time; each part of the curve is a sixteenth of it
TEST_CASE("memory that grows from step to step", "[rule][rule_condition]") {
    constexpr double kGib = 1 << 30;
    const auto held = [&](std::initializer_list<double> quarters_gib) {
        RunRows run = one_gpu();
        run.change("UPDATE gpu SET memory_total_bytes = 17179869184");
        int64_t nth = 0;
        for (const double gib : quarters_gib)
            for (int part = 0; part < 4; ++part, ++nth)
                run.add("gpu_curve", {{"gpu_id", 0},
                                      {"what", "allocated_bytes"},
                                      {"from_ns", nth * RunRows::kSteps * kStepNs / 16},
                                      {"mean", gib * kGib},
                                      {"most", gib * kGib}});
        return run;
    };
    const auto found = held({1, 2, 3, 4}).look("memory_growth");
    REQUIRE(found);
    CHECK(found->kind == Kind::kNote);
    // 2 GiB in half of the 20 steps; 12 GiB are left, from the middle of the last quarter on.
    CHECK(found->title ==
          "the program holds 205 MiB more device memory after each step: 2.00 GiB more in the last quarter "
          "than "
          "in the second, and all there is after about 58 more steps");
    CHECK(found->evidence.size() == 1);
    CHECK(held({1, 2, 2.55, 3.6}).look("memory_growth"));
    CHECK(!held({1, 2, 2.45, 3.6}).look("memory_growth"));  // in jumps
    CHECK(!held({1, 4, 4, 4}).look("memory_growth"));       // warm-up
    CHECK(!held({4, 4, 3, 4}).look("memory_growth"));
    CHECK(!held({1, 1, 1.07, 1.14}).look("memory_growth"));  // below 1 % of 16 GiB
    CHECK(!held({1, 2, 3}).look("memory_growth"));           // not known in the last quarter
}

TEST_CASE("work that is too little for a GPU", "[rule][rule_condition]") {
    RunRows run = one_gpu(tiny_step());
    add_launches(run, 200);
    const auto found = run.look("not_worth_gpu");
    REQUIRE(found);
    CHECK(found->kind == Kind::kNote);
    CHECK(found->title ==
          "the GPU computes 20.0 us of a step, and launching (80.0 us) and copying (80.0 us) take longer; "
          "100 % of its kernels are shorter than two launches");
    CHECK(found->evidence.size() >= 2);
}

TEST_CASE("large kernels, and much work of small ones, are worth a GPU", "[rule][rule_condition]") {
    RunRows large = one_gpu(tiny_step());
    add_launches(large, 100);
    CHECK(!large.look("not_worth_gpu"));
    RunRows busy = one_gpu({.ran = {{kCompute, 90 * kUs}}, .idle = {{"launch_bound", 80 * kUs}}});
    add_launches(busy, 200);
    CHECK(!busy.look("not_worth_gpu"));
    RunRows idle = one_gpu(
        {.ran = {{kCompute, 20 * kUs}}, .idle = {{"launch_bound", 40 * kUs}, {"input_wait", 100 * kUs}}});
    add_launches(idle, 200);
    CHECK(!idle.look("not_worth_gpu"));
}

RunRows page_moves(int64_t each_step_ns, const StepOf& like) {
    RunRows run = one_gpu(like);
    run.add("copy_stat", {{"gpu_id", 0},
                          {"stream_id", 1},
                          {"kind", "h2d"},
                          {"source", "managed"},
                          {"target", "managed"},
                          {"blocking", 0},
                          {"position", 0},
                          {"bytes_each", 65536},
                          {"count", 100 * RunRows::kSteps},
                          {"bytes", 6'000'000 * RunRows::kSteps},
                          {"steps", RunRows::kSteps},
                          {"timed", 100 * RunRows::kSteps},
                          {"sum_ns", each_step_ns * RunRows::kSteps}});
    return run;
}

TEST_CASE("pages of managed memory that move are a note", "[rule][rule_condition]") {
    const StepOf busy = {.ran = {{kCompute, kStepNs}}};
    const auto found = page_moves(of_step(0.05), busy).look("page_faults");
    REQUIRE(found);
    CHECK(found->kind == Kind::kNote);
    CHECK(found->title ==
          "2,000 moves of managed memory's pages in all (120 MB to the device, 0 B back) take 1.00 ms of a "
          "step, and what touches a page waits for it");
    CHECK(!page_moves(of_step(0.049), busy).look("page_faults"));
    // Little of the step, and much of its kernels.
    const StepOf idle = {.ran = {{kCompute, kStepNs / 10}}, .idle = {{"host_unknown", kStepNs * 9 / 10}}};
    CHECK(page_moves(of_step(0.01), idle).look("page_faults"));
    CHECK(!one_gpu().look("page_faults"));
}

TEST_CASE("idle time from page to page of managed memory is a finding", "[rule][rule_condition]") {
    const auto found = [](double share) {
        const StepOf like = {.ran = {{kCompute, of_step(1 - share)}},
                             .idle = {{"managed_pages", of_step(share)}}};
        return page_moves(of_step(0.01), like).look("page_faults");
    };
    const auto much = found(0.4);
    REQUIRE(much);
    CHECK(much->kind != Kind::kNote);
    CHECK(much->gain.low_ns == 0);
    CHECK(much->gain.high_ns == Approx(of_step(0.4)));
    CHECK(much->title ==
          "the GPU is idle 8.00 ms of a step from one page of managed memory to the next, while the host or "
          "a kernel touches them; 2,000 moves of managed memory's pages in all (120 MB to the device, 0 B "
          "back) take 200 us");
    CHECK(!found(0.04));
}

TEST_CASE("spans are of time in steps that count", "[rule][rule_condition]") {
    RunRows run;
    run.rank(0).steps(0, {.ran = {{kCompute, kStepNs}}});
    run.change(
        "INSERT INTO unlike_steps VALUES (0); UPDATE step SET warm_up = 1 WHERE step = 0;"
        " UPDATE step SET left_out = 1 WHERE step = 1");
    const auto spans = [&] {
        return Situation(run.raw()).number("SELECT count(*) FROM v_gpu_basis WHERE basis = 'spans'");
    };
    CHECK(spans() == RunRows::kSteps - 2);
    run.change("UPDATE step SET left_out = 1");  // where none counts, all is known
    CHECK(spans() == RunRows::kSteps);
}

TEST_CASE("kernels that leave most of the GPU empty are a note", "[rule][rule_condition]") {
    const auto with = [](double share, int64_t small, const StepOf& like, double filled = 0.1) {
        RunRows run = one_gpu(like);
        run.add("kernel", {{"gpu_id", 0},
                           {"name", "sweep"},
                           {"launches", 10 * RunRows::kSteps},
                           {"graph_launches", 0},
                           {"timed", 10 * RunRows::kSteps},
                           {"sum_ns", of_step(share) * RunRows::kSteps},
                           {"small_grid", small * RunRows::kSteps},
                           {"small_grid_ns", of_step(share) * RunRows::kSteps},
                           {"small_grid_filled_ns", filled * static_cast<double>(of_step(share)) *
                                                        static_cast<double>(RunRows::kSteps)}});
        return run.look("small_grids");
    };
    const StepOf busy = {.ran = {{kCompute, kStepNs}}};
    const auto found = with(0.8, 10, busy);
    REQUIRE(found);
    CHECK(found->kind == Kind::kNote);
    CHECK(found->title ==
          "16.0 ms of a step go to kernels with at most half as many blocks as the GPU has multiprocessors, "
          "most "
          "of it to sweep: the GPU is busy, and at least half of it has nothing to do");
    CHECK(!with(0.6, 10, busy));
    CHECK(!with(0.8, 4, busy));         // most of its launches have enough blocks
    CHECK(!with(0.8, 10, busy, 0.97));  // 128 of 132: some are left out on purpose
    // Several at once fill it.
    CHECK(!with(0.8, 10, {.ran = {{kCompute, kStepNs / 2}}, .idle = {{"host_unknown", kStepNs / 2}}}));
}

TEST_CASE("what of a run is known too little to trust the advice", "[rule][rule_condition]") {
    CHECK(!one_gpu().look("low_coverage"));
    const auto with = [](const std::string& sql) { return one_gpu().change(sql).look("low_coverage"); };
    CHECK_THAT(with("INSERT OR REPLACE INTO step_work VALUES (0, NULL, 0.5)")->title,
               Catch::Matchers::Contains("50 % of the operations in steps have device times"));
    CHECK(!with("UPDATE gpu SET coverage = 0.5; INSERT OR REPLACE INTO step_work VALUES (0, NULL, 0.95)"));

    auto found = with("UPDATE gpu SET coverage = 0.89");
    REQUIRE(found);
    CHECK(found->kind == Kind::kNote);
    CHECK(found->title == "89 % of the operations in timed windows have device times");
    CHECK(found->evidence.size() == 1);
    CHECK(!with("UPDATE gpu SET coverage = 0.91"));

    found = with("UPDATE gpu SET timed_share = 0.0009");
    REQUIRE(found);
    CHECK(found->title == "0.09 % of the run was timed");
    CHECK(!with("UPDATE gpu SET timed_share = 0.0011"));

    found = with("DELETE FROM gpu_step WHERE step >= 4");
    REQUIRE(found);
    CHECK(found->title == "4 of 20 steps were timed from beginning to end");
    CHECK_THAT(found->try_it, Catch::Matchers::Contains("GPUSHIM_BUDGET=5%"));
    CHECK(!with("DELETE FROM gpu_step WHERE step >= 5"));
    // Steps that are longer than windows: a larger share of the run there is none.
    found = with("DELETE FROM gpu_step WHERE step >= 4; UPDATE gpu SET timed_share = 0.99");
    REQUIRE(found);
    CHECK_THAT(found->try_it, !Catch::Matchers::Contains("BUDGET"));

    found = with("INSERT INTO \"drop\" VALUES (0, 'ring_full', 12)");
    REQUIRE(found);
    CHECK(found->title == "12 events were dropped (ring_full)");
    CHECK(!with("INSERT INTO \"drop\" VALUES (0, 'ring_full', 0)"));

    found = with("UPDATE rank SET own_cost_share = 0.016");
    REQUIRE(found);
    CHECK(found->title == "tracing took 2 % of the busiest thread, more than its budget of 1 %");
    CHECK(!with("UPDATE rank SET own_cost_share = 0.015"));

    found = with("UPDATE gpu SET coverage = 0.5; UPDATE rank SET own_cost_share = 0.05");
    REQUIRE(found);
    CHECK(found->title.find("; tracing took") != std::string::npos);
    CHECK(found->evidence.size() == 2);
}

TEST_CASE("where device times were not asked for, nothing is wrong with them", "[rule][rule_condition]") {
    RunRows run = one_gpu();
    run.change("UPDATE gpu SET level = 'host', coverage = 0, timed_share = 0");
    CHECK(!run.look("low_coverage"));
}

}  // namespace rule_condition_test
