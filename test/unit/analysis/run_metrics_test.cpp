// What `gpushim watch --metrics` writes of a run.
#include "analysis/screen/run_metrics.h"

#include <catch2/catch.hpp>

namespace run_metrics_test {

using namespace gpushim::analysis;

namespace {

constexpr int64_t kMs = 1'000'000;

RankNow rank_of(int64_t number) {
    RankNow rank;
    rank.rank = number;
    rank.host = "node";
    rank.job = "77";
    rank.pod = "train-0";
    rank.pid = 4000 + number;
    rank.news_age_ns = 50 * kMs;
    rank.pace.median_ns = 4'290'000;
    rank.pace.change = -0.03;
    rank.own_share = 0.009;
    rank.window_age_ns = 4000 * kMs;
    GpuNow gpu;
    gpu.uuid = "GPU-a";
    GpuParts parts;
    parts.whole_ns = 1000;
    parts.productive_ns = 700;
    parts.transfer_ns = 20;
    parts.peer_wait_ns = 50;
    parts.copy_ns = 30;
    parts.idle[Cause::launch_bound] = 190;
    parts.idle[Cause::sync] = 10;
    gpu.parts = parts;
    gpu.memory_used_bytes = 1024;
    gpu.power_mw = 310'400;
    rank.gpus.push_back(gpu);
    return rank;
}

RunNow run_of(int64_t ranks) {
    RunNow run;
    run.folder = "/run";
    run.taken_real_ns = 1'500'000'000;
    for (int64_t i = 0; i < ranks; ++i) run.ranks.push_back(rank_of(i));
    return run;
}

const std::string kFirst = R"({host="node",rank="0",pid="4000",job_id="77",pod="train-0")";

bool has(const std::string& text, const std::string& line) {
    return text.find("\n" + line + "\n") != std::string::npos;
}

// Its figures of the first rank, or of the run.
bool tells(const std::string& text, const std::string& name) {
    return text.find("\ngpushim_" + name + "{") != std::string::npos;
}

}  // namespace

TEST_CASE("figures of a process that runs are there, in base units", "[metrics]") {
    const std::string text = run_metrics(run_of(1), HangNow());
    CHECK(has(text, R"(gpushim_watch_written_timestamp_seconds{folder="/run"} 1.5)"));
    CHECK(has(text, R"(gpushim_run_hang{folder="/run"} 0)"));
    CHECK(has(text, R"(gpushim_run_processes{folder="/run",state="running"} 1)"));
    CHECK(has(text, "gpushim_rank_state" + kFirst + R"(,state="running"} 1)"));
    CHECK(has(text, "gpushim_rank_state" + kFirst + R"(,state="died"} 0)"));
    CHECK(has(text, "gpushim_rank_step_seconds" + kFirst + "} 0.00429"));
    CHECK(has(text, "gpushim_rank_step_change_ratio" + kFirst + "} -0.03"));
    CHECK(has(text, "gpushim_rank_own_cost_ratio" + kFirst + "} 0.009"));
    CHECK(has(text, "gpushim_gpu_power_watts" + kFirst + R"(,gpu="GPU-a"} 310.4)"));
    CHECK(has(text, "gpushim_gpu_share_ratio" + kFirst + R"(,gpu="GPU-a",part="productive"} 0.7)"));
    CHECK(has(text, "gpushim_gpu_share_ratio" + kFirst + R"(,gpu="GPU-a",part="waiting_for_peer"} 0.05)"));
    CHECK(has(text, "gpushim_gpu_share_ratio" + kFirst + R"(,gpu="GPU-a",part="exposed_comm"} 0.02)"));
    CHECK(has(text, "gpushim_gpu_idle_ratio" + kFirst + R"(,gpu="GPU-a",cause="launch_bound"} 0.19)"));
}

TEST_CASE("what is not known has no line, and a wait that is not known another name", "[metrics]") {
    RunNow run = run_of(1);
    run.ranks[0].pace = {};
    run.ranks[0].own_share.reset();
    run.ranks[0].rank.reset();
    run.ranks[0].gpus[0].power_mw.reset();
    run.ranks[0].gpus[0].parts->is_wait_known = false;
    const std::string text = run_metrics(run, {});
    for (const char* name : {"run_hang", "rank_step_seconds", "rank_step_change_ratio", "rank_own_cost_ratio",
                             "gpu_power_watts", "rank_slowest", "rank_missing"})
        CHECK_FALSE(tells(text, name));
    CHECK(text.find("rank=\"") == std::string::npos);
    CHECK(text.find("part=\"communication\"} 0.02\n") != std::string::npos);
    CHECK(text.find("waiting_for_peer\"") == std::string::npos);
    CHECK(text.find("exposed_comm\"") == std::string::npos);
}

TEST_CASE("a process that does not run has no figures of former times", "[metrics]") {
    for (const RankState state : {RankState::silent, RankState::ended, RankState::died}) {
        RunNow run = run_of(1);
        run.ranks[0].state = state;
        run.collectives = {{"ncclAllReduce", 4096, 2, 9, 1e9, 1e9}};
        const std::string text = run_metrics(run, {});
        INFO(name_of(state));
        CHECK(tells(text, "rank_state"));
        for (const char* name : {"rank_step_seconds", "gpu_share_ratio", "gpu_idle_ratio", "gpu_power_watts",
                                 "rank_own_cost_ratio", "collective_algbw_bytes_per_second"})
            CHECK_FALSE(tells(text, name));
        CHECK(tells(text, "rank_news_age_seconds") == (state == RankState::silent));
    }
    RunNow quiet = run_of(1);  // its library goes on, and its GPU does what nobody knows
    quiet.ranks[0].state = RankState::quiet;
    CHECK(tells(run_metrics(quiet, {}), "gpu_power_watts"));
    CHECK_FALSE(tells(run_metrics(quiet, {}), "gpu_share_ratio"));
}

TEST_CASE("who is missing and who is slowest", "[metrics]") {
    RunNow run = run_of(2);
    run.slowest = 1;
    HangNow hang;
    hang.is_hung = true;
    hang.missing = {0};
    hang.absent = {5};
    const std::string text = run_metrics(run, hang);
    CHECK(has(text, R"(gpushim_run_hang{folder="/run"} 1)"));
    CHECK(has(text, "gpushim_rank_missing" + kFirst + "} 1"));
    CHECK(text.find("gpushim_rank_missing{host=\"node\",rank=\"1\"") == std::string::npos);
    CHECK(text.find("gpushim_rank_missing{folder=\"/run\",rank=\"5\"") != std::string::npos);
    CHECK(text.find("gpushim_rank_slowest{host=\"node\",rank=\"1\"") != std::string::npos);
    CHECK(text.find("gpushim_rank_slowest{host=\"node\",rank=\"0\"") == std::string::npos);
}

TEST_CASE("since when steps are longer, and what in them is", "[metrics]") {
    RunNow run = run_of(1);
    RankNow& rank = run.ranks[0];
    CHECK_FALSE(tells(run_metrics(run, {}), "rank_changed_step"));
    rank.change = PaceChange{0, 70, 4e6, 5e6};
    rank.changed_step = 12'300;
    rank.changed_real_ns = 2'500'000'000;
    GpuNow& gpu = rank.gpus[0];
    std::string text = run_metrics(run, {});
    CHECK(has(text, "gpushim_rank_changed_timestamp_seconds" + kFirst + "} 2.5"));
    CHECK(has(text, "gpushim_rank_changed_step" + kFirst + "} 12300"));
    CHECK(has(text, "gpushim_rank_changed_before_seconds" + kFirst + "} 0.004"));
    CHECK(has(text, "gpushim_rank_changed_ratio" + kFirst + "} 0.25"));
    CHECK_FALSE(tells(text, "gpu_changed_part_seconds"));  // no windows of both sides

    gpu.parts_before = gpu.parts_since = gpu.parts;
    gpu.parts_since->productive_ns = 500;  // of 1000
    gpu.parts_since->copy_ns = 230;
    text = run_metrics(run, {});
    const auto part = [&](const std::string& name, const std::string& value) {
        return has(text, "gpushim_gpu_changed_part_seconds" + kFirst + ",gpu=\"GPU-a\",part=\"" + name +
                             "\"} " + value);
    };
    CHECK(part("productive", "-0.0003"));        // 0.5 * 5 ms - 0.7 * 4 ms
    CHECK(part("memory", "0.00103"));            // 0.23 * 5 ms - 0.03 * 4 ms
    CHECK(part("waiting_for_peer", "0.00005"));  // 0.05 of either
    CHECK(has(text,
              "gpushim_gpu_changed_idle_seconds" + kFirst + R"(,gpu="GPU-a",cause="launch_bound"} 0.00019)"));
    gpu.parts_before->is_wait_known = false;  // one side does not know: both are told together
    text = run_metrics(run, {});
    CHECK(part("communication", "0.00007"));
    CHECK_FALSE(part("waiting_for_peer", "0.00005"));

    rank.state = RankState::silent;
    CHECK_FALSE(tells(run_metrics(run, {}), "rank_changed_step"));
}

TEST_CASE("collectives are told by name, size and ranks", "[metrics]") {
    RunNow run = run_of(2);
    run.collectives = {{"ncclAllReduce", 65536, 8, 9, 2e9, 3.5e9},
                       {"ncclAllGather", 0, 8, 1, 1e11, 0.875e11}};
    const std::string text = run_metrics(run, {});
    CHECK(has(text,
              "gpushim_collective_algbw_bytes_per_second{folder=\"/run\",collective=\"ncclAllReduce\","
              "size=\"65536\",ranks=\"8\"} 2000000000"));
    CHECK(has(text,
              "gpushim_collective_busbw_bytes_per_second{folder=\"/run\",collective=\"ncclAllGather\","
              "size=\"larger\",ranks=\"8\"} 87500000000"));
}

TEST_CASE("a run of many processes says what it leaves out", "[metrics]") {
    const std::string text = run_metrics(run_of(1000), {});
    CHECK_FALSE(has(text, R"(gpushim_watch_left_out_series{folder="/run"} 0)"));
    CHECK(tells(text, "watch_left_out_series"));
}

}  // namespace run_metrics_test
