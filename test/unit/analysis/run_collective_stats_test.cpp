// Rates, expectations, parameters and links, by hand.
#include <catch2/catch.hpp>

#include "made_ranks.h"

namespace run_collective_stats_test {

using namespace made;

namespace {

constexpr int64_t kMs = 1'000'000;

// Two ranks, 40 MB of float32 in each of four steps of 10 ms, both in 2 ms: algbw and, of two ranks, busbw
// are 20 GB/s. Rank 1 comes 1 ms later. And a small one of 4 KiB in 20 us.
struct Job {
    Ranks ranks{2};
    void add(RunOptions options = {}, int captured_steps = 0, int shape = kAllReduceShape) {
        for (int rank = 0; rank < 2; ++rank) {
            Rank& made = ranks[rank];
            made.facts.options = options;
            made.steps(4, 0, 10 * kMs);
            NcclCall call;
            call.shape = shape;
            for (int64_t step = 0; step < 4 - captured_steps; ++step) {
                const int64_t at_ns = step * 10 * kMs;
                call.bytes = 40'000'000;
                made.nccl(at_ns + 10, at_ns + kMs + rank * kMs, at_ns + 4 * kMs, call);
                ++call.seq;
                call.bytes = 4096;
                made.nccl(at_ns + 100, at_ns + 5 * kMs, at_ns + 5 * kMs + 20'000, call);
                ++call.seq;
            }
        }
    }
};

}  // namespace

TEST_CASE("rates and expectations of instances that are alike", "[run_collective_stats]") {
    Job job;
    job.add();
    job.ranks.write();
    CHECK(job.ranks.ask(
              "SELECT op, dtype, ranks, count, in_steps, timed, complete, whole_bytes, transfer_sum_ns,"
              " wait_sum_ns, own_sum_ns, transfer_p50_ns, wait_p50_ns, transfer_by"
              " FROM collective_stat ORDER BY bytes") ==
          "allreduce float32 2 4 4 4 4 4096 80000 0 160000 20000 0 shortest | "
          "allreduce float32 2 4 4 4 4 40000000 8000000 4000000 20000000 2000000 0 shortest");
    // 40 MB in 2 ms; with the wait, in 3.
    CHECK(job.ranks.ask("SELECT algbw_bytes_per_s, busbw_bytes_per_s,"
                        " cast(busbw_incl_wait_bytes_per_s / 1e6 AS INTEGER), bandwidth_bytes_per_s,"
                        " bandwidth_source FROM collective_stat WHERE bytes > 4096") ==
          "20000000000.0 20000000000.0 13333 20000000000.0 measured");
    // A round's latency by the small ones: 20 us over the two rounds of two ranks. 2 ms + 2 * 10 us.
    CHECK(job.ranks.ask("SELECT expected_simple_ns, expected_ring_ns, expected_ns, expected_by, efficiency,"
                        " efficiency_by FROM collective_stat WHERE bytes > 4096") ==
          "2000000 2020000 2020000 ring - few_instances");
    CHECK(job.ranks.ask("SELECT DISTINCT latency_ns, latency_bytes FROM collective_stat") == "10000.0 4096");
}

TEST_CASE("a bandwidth that is given comes first", "[run_collective_stats]") {
    Job job;
    RunOptions options;
    options.bandwidth_bytes_per_s = 40e9;
    job.add(options, 0, kTreeShape);
    job.ranks.write();
    // By a tree twice the bytes.
    CHECK(job.ranks.ask("SELECT bandwidth_bytes_per_s, bandwidth_source, expected_simple_ns, expected_ns,"
                        " expected_by FROM collective_stat WHERE bytes > 4096") ==
          "40000000000.0 given 1000000 2000000 tree");
}

// Hosts a (ranks 0, 1) and b (2, 3); 40 MB over all four in 20 ms. Over two of one host they take 1 ms, 40
// GB/s, and, if there are such communicators, over two of different hosts 8 ms, 5 GB/s.
//
//   a   0 ═ 1       within: 2 * 1/2 * 40 MB / 40 GB/s = 1 ms
//       │   │       between: 2 * 1/2 * 40 MB / (2 * 5 GB/s) = 4 ms
//   b   2 ═ 3
struct Hosts {
    Ranks ranks{0};

    explicit Hosts(bool has_between, RunOptions options = {}, int shape = kAllReduceShape) {
        for (int rank = 0; rank < 4; ++rank) {
            Rank& made = ranks.add(rank < 2 ? "a" : "b");
            made.facts.options = options;
            made.steps(1, 0, 100 * kMs);
            made.communicator("all", rank, 4, 1);
            made.communicator(rank < 2 ? "a" : "b", rank % 2, 2, 2);
            made.communicator(rank % 2 == 0 ? "even" : "odd", rank / 2, 2, 3);
            NcclCall call;
            call.bytes = 80'000'000;
            call.shape = shape;
            made.nccl(10, kMs, 21 * kMs, call);
            call.bytes = 40'000'000;
            call.communicator = 2;
            made.nccl(30, 30 * kMs, 31 * kMs, call);
            call.communicator = 3;
            if (has_between) made.nccl(50, 40 * kMs, 48 * kMs, call);
        }
        ranks.write();
    }
    std::string expected() {
        return ranks.ask(
            "SELECT expected_by, expected_ns, bandwidth_bytes_per_s / 1e9, bandwidth_source,"
            " hosts, between_bytes_per_s / 1e9, between_source, expected_why FROM collective_stat"
            " WHERE comm = 'all'");
    }
};

TEST_CASE("over several hosts two levels are expected", "[run_collective_stats]") {
    CHECK(Hosts(true).expected() == "two_level 8000000 40.0 measured 2 10.0 measured -");
    RunOptions options;
    options.between_bytes_per_s = 20e9;
    Hosts given(false, options);
    CHECK(given.expected() == "two_level 4000000 40.0 measured 2 20.0 given -");
    // Of the step: what goes over all four, and over two, by the two levels of the former.
    CHECK(given.ranks.ask("SELECT expected_ns FROM allreduce_check") == "4000000");
    // Of two ranks on two hosts there is one level: what is given between hosts is theirs.
    CHECK(Hosts(true, options)
              .ranks.ask("SELECT expected_by, expected_simple_ns, bandwidth_source FROM collective_stat"
                         " WHERE comm = 'odd'") == "ring 2000000 given");
    CHECK(given.ranks.ask("SELECT expected_by, hosts FROM collective_stat WHERE comm = 'b'") == "ring 1");
}

TEST_CASE("without a bandwidth between hosts it says so", "[run_collective_stats]") {
    // Its own 80 MB in 20 ms, of four ranks: 6 GB/s.
    CHECK(Hosts(false).expected() ==
          "ring 20000000 6.0 measured 2 - - on 2 hosts; the bandwidth between them is not known: give "
          "--bandwidth-between");
    // A tree is one by its own bandwidth.
    CHECK(Hosts(true, {}, kTreeShape)
              .ranks.ask("SELECT expected_by, expected_ns FROM collective_stat"
                         " WHERE comm = 'all'") == "tree 26666667");
}

// Rank 1 says neither its host nor when that was started.
TEST_CASE("ranks that do not say where they are leave the hosts unknown", "[run_collective_stats]") {
    Ranks ranks(2);
    ranks[1].trace.host.clear();
    ranks[1].run("DELETE FROM meta WHERE key = 'boot_id'");
    for (int rank : {0, 1}) ranks[rank].nccl(50, 100, 160);
    ranks.write();
    CHECK(ranks.ask("SELECT hosts, expected_why FROM collective_stat") == "- -");
}

// 40,004,096 bytes of float32 a step are 10,001,024 parameters.
TEST_CASE("bytes of a step against the parameters", "[run_collective_stats]") {
    Job job;
    RunOptions options;
    options.params = 10'001'024;
    job.add(options);
    job.ranks.write();
    CHECK(job.ranks.ask("SELECT params, params_implied, sharded, bytes_per_step, calls_per_step,"
                        " ratio_to_params, sync, expected_ns, measured_ns, tiny_calls_per_step, why"
                        " FROM allreduce_check") ==
          "10001024 10001024.0 0 40004096.0 2.0 1.0 once 2000205 2020000 1.0 -");
}

// Of another size, and moving less: activations of a tensor split, a norm.
TEST_CASE("only communicators as large as the one that moves most are asked", "[run_collective_stats]") {
    Job job;
    job.add();
    for (int rank = 0; rank < 2; ++rank) {
        job.ranks[rank].communicator("d", rank, 4, 2);
        NcclCall call;
        call.communicator = 2;
        call.bytes = 8'000'000;
        job.ranks[rank].nccl(39 * kMs, 0, 0, call);
    }
    job.ranks.write();
    CHECK(job.ranks.ask("SELECT bytes_per_step, calls_per_step FROM allreduce_check") == "40004096.0 2.0");
}

namespace {

// Each rank reduces 4 MB in each of two steps, in 1 ms, and calls something else.
void reduce_and_call(Rank& rank, int64_t communicator, const char* also) {
    rank.steps(2, 0, 10 * kMs);
    NcclCall call;
    call.communicator = communicator;
    for (int64_t step = 0; step < 2; ++step) {
        const int64_t at_ns = step * 10 * kMs;
        call.api = "ncclAllReduce";
        call.bytes = 4'000'000;
        rank.nccl(at_ns + 10, at_ns + 1 * kMs, at_ns + 2 * kMs, call);
        ++call.seq;
        call.api = also;
        call.bytes = 1'000'000;
        rank.nccl(at_ns + 100, at_ns + 3 * kMs, at_ns + 5 * kMs, call);
        ++call.seq;
    }
}

}  // namespace

TEST_CASE("what is gathered beside a reduction is of no parameters", "[run_collective_stats]") {
    Ranks ranks(2);
    for (int rank = 0; rank < 2; ++rank) reduce_and_call(ranks[rank], 1, "ncclAllGather");
    ranks.write();
    CHECK(ranks.ask("SELECT bytes_per_step, calls_per_step, measured_ns FROM allreduce_check") ==
          "4000000.0 1.0 1000000");
}

TEST_CASE("of one trace the bytes count though nothing says of which ranks they are",
          "[run_collective_stats]") {
    const auto check = [](int count, const char* also, std::optional<double> bandwidth = {}) {
        Ranks ranks(count, -1);
        for (int rank = 0; rank < count; ++rank) {
            ranks[rank].facts.options.bandwidth_bytes_per_s = bandwidth;
            reduce_and_call(ranks[rank], 0, also);
        }
        ranks.write();
        return ranks.ask("SELECT params_implied, bytes_per_step, expected_ns, why FROM allreduce_check");
    };
    CHECK(check(1, "ncclAllGather") == check(1, "ncclAllGather", 300e9));
    CHECK(check(1, "ncclAllGather") ==
          "1000000.0 4000000.0 - with how many ranks is not recorded, so neither is what to expect; "
          "not all of them were timed");
    CHECK(check(1, "ncclReduceScatter") == "- - - nothing was reduced or gathered between ranks");
    CHECK(check(2, "ncclAllGather") == "- - - nothing was reduced or gathered between ranks");
}

TEST_CASE("what is not known of the parameters says why", "[run_collective_stats]") {
    const auto why = [](auto change) {
        Job job;
        job.add();
        change(job);
        job.ranks.write();
        return job.ranks.ask("SELECT bytes_per_step, why FROM allreduce_check");
    };
    CHECK(why([](Job& job) { job.ranks[0].facts.are_slices = true; }) == "- no steps were found");
    CHECK(why([](Job& job) {
              NcclCall call;
              call.seq = 9;
              call.flags = 1;
              job.ranks[0].nccl(39 * kMs, 0, 0, call);
          }) == "- calls were captured into graphs, and it is not known how often the graphs ran");
    Ranks alone(1, -1);
    alone.write();
    CHECK(alone.ask("SELECT params_implied, why FROM allreduce_check") ==
          "- nothing was reduced or gathered between ranks");
}

// FSDP: 8 MB of 16 bits are gathered three times, with recomputation, and their gradients scattered in 32.
TEST_CASE("parameters that are gathered again are no more of them", "[run_collective_stats]") {
    constexpr int kBfloat16 = 9;
    Ranks ranks(2);
    for (int rank = 0; rank < 2; ++rank) {
        ranks[rank].steps(1, 0, 10 * kMs);
        for (int i = 0; i < 3; ++i) {
            NcclCall gather;
            gather.bytes = 4'000'000;
            gather.api = "ncclAllGather";
            gather.dtype = kBfloat16;
            gather.seq = i + 1;
            ranks[rank].nccl(10 + 20 * i, 100 + 200 * i, 200 + 200 * i, gather);
        }
        NcclCall scatter;
        scatter.bytes = 8'000'000;
        scatter.api = "ncclReduceScatter";
        scatter.seq = 4;
        ranks[rank].nccl(80, 800, 900, scatter);
    }
    ranks.write();
    CHECK(ranks.ask("SELECT params_implied, sharded, bytes_per_step FROM allreduce_check") ==
          "4000000.0 1 40000000.0");
}

// ReduceScatter of 4 MB each to 8 MB in all, and AllGather back: one AllReduce of 8 MB, 2 M parameters.
TEST_CASE("sharded training reduces by scattering and gathering", "[run_collective_stats]") {
    Ranks ranks(2);
    for (int rank = 0; rank < 2; ++rank) {
        ranks[rank].steps(1, 0, 10 * kMs);
        NcclCall call;
        call.bytes = 4'000'000;
        call.api = "ncclReduceScatter";
        ranks[rank].nccl(10, 100, 200, call);
        call.api = "ncclAllGather";
        call.seq = 2;
        ranks[rank].nccl(30, 300, 400, call);
    }
    ranks.write();
    CHECK(ranks.ask("SELECT params_implied, sharded, bytes_per_step, calls_per_step FROM allreduce_check") ==
          "2000000.0 1 16000000.0 2.0");
    CHECK(ranks.ask("SELECT why FROM allreduce_check") ==
          "the bandwidth is not known: no message of 32 MiB was timed, and there is no topology; give "
          "--bandwidth");
}

// Four GPUs, NVLink between 0 and 1, 2 and 3; else over the host's PCIe.
TEST_CASE("a communicator over a slow link, while others are joined better", "[run_collective_stats]") {
    const auto made = [](const std::vector<int>& gpus) {
        const auto count = static_cast<int>(gpus.size());
        auto ranks = std::make_unique<Ranks>(count, -1);
        for (int rank = 0; rank < count; ++rank) {
            Rank& one = (*ranks)[rank];
            one.communicator("c", rank, count);
            one.facts.gpus[0].uuid = "GPU-" + std::to_string(gpus[static_cast<size_t>(rank)]);
            one.nccl(50, 100, 160);
        }
        Rank& box = (*ranks)[0];
        box.run("DELETE FROM device");
        for (int gpu = 0; gpu < 4; ++gpu) {
            const std::string id = std::to_string(gpu);
            box.run("INSERT INTO device (id, uuid, name, memory_bytes) VALUES (" + id + ", 'GPU-" + id +
                    "', 'Made', 1)");
            box.run("INSERT INTO topology VALUES (" + id + ", NULL, 'pcie 4', 16, 31500000000)");
            for (int peer = 0; peer < 4; ++peer) {
                const bool joined = gpu / 2 == peer / 2;
                if (gpu != peer)
                    box.run("INSERT INTO topology VALUES (" + id + ", " + std::to_string(peer) +
                            (joined ? ", 'nvlink 4.0', 4, 100000000000)" : ", 'host bridge', NULL, NULL)"));
            }
        }
        ranks->write();
        return ranks;
    };
    CHECK(made({0, 1})->ask("SELECT link, slow_link FROM communicator") == "nvlink 4.0 0");
    CHECK(made({0, 2})->ask("SELECT link, slow_link FROM communicator") == "host bridge 1");
    CHECK(made({0, 2})->ask("SELECT bandwidth_bytes_per_s, bandwidth_source FROM collective_stat") ==
          "31500000000.0 topology");
    // Of all four there is no better choice.
    CHECK(made({0, 1, 2, 3})->ask("SELECT link, slow_link FROM communicator") == "host bridge 0");
    Ranks unknown(2);
    unknown[0].nccl(50, 100, 160);
    unknown.write();
    CHECK(unknown.ask("SELECT link, slow_link FROM communicator") == "- -");
}

// 25 of 40 MB in 2 ms each, of two ranks at 20 GB/s: all of what can be expected but the rounds' latency.
TEST_CASE("efficiency is judged from twenty instances on", "[run_collective_stats]") {
    Ranks ranks(2);
    NcclCall call;
    call.bytes = 40'000'000;
    for (; call.seq <= 25; ++call.seq)
        for (int rank = 0; rank < 2; ++rank) {
            const int64_t at_ns = call.seq * 10 * kMs;
            ranks[rank].nccl(at_ns, at_ns + kMs, at_ns + 3 * kMs, call);
        }
    ranks.write();
    CHECK(ranks.ask("SELECT efficiency, efficiency_by FROM collective_stat") == "1.0 bandwidth");
}

// 40,004,096 bytes of each step are timed. What is not counts only where it is a hundredth of them.
TEST_CASE("measured time does without a trifle that was not timed", "[run_collective_stats]") {
    const auto measured = [](int64_t bytes) {
        Job job;
        job.add();
        for (int rank = 0; rank < 2; ++rank) {
            NcclCall call;
            call.seq = 9;
            call.bytes = bytes;
            job.ranks[rank].nccl(39 * kMs, 0, 0, call);
        }
        job.ranks.write();
        return job.ranks.ask("SELECT measured_ns, why FROM allreduce_check");
    };
    CHECK(measured(600) == "2020000 -");
    CHECK(measured(8'000'000) == "- not all of them were timed");
}

}  // namespace run_collective_stats_test
