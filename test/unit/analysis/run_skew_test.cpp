// What ranks say of each other, written from hand-made traces and rows of the parts.
#include <catch2/catch.hpp>

#include "made_ranks.h"

namespace run_skew_test {

using namespace made;

namespace {

constexpr int64_t kMs = 1'000'000;

// Eight ranks of 10 ms of compute a step, rank `slow` of 13; an AllReduce of 40 MB that takes 1 ms ends each.
//
//   rank 0   ──10──[███ waits 3 █]   ──10──[███ waits 3 █]
//   rank 3   ────13─────[ 1 ]        ────13─────[ 1 ]
//
// The parts' rows say what each GPU did in a step: compute 10 or 13, wait 3 or 0, transfer 1.
struct Job {
    static constexpr int64_t kCompute = 10 * kMs, kSlow = 13 * kMs, kTransfer = kMs;
    static constexpr int64_t kStep = kSlow + kTransfer, kBytes = 40'000'000;
    static constexpr int kCount = 8, kSteps = 30;
    Ranks ranks{kCount};

    explicit Job(int slow, const std::function<void(Job&)>& change = {}, const ReplayLimits& limits = {}) {
        for (int rank = 0; rank < kCount; ++rank) add_rank(rank, rank == slow ? kSlow : kCompute);
        if (change) change(*this);
        ranks.write(limits);
    }
    void add_rank(int rank, int64_t compute_ns) {
        Rank& made = ranks[rank];
        made.steps(kSteps, 0, kStep);
        NcclCall call;
        call.bytes = kBytes;
        for (int step = 0; step < kSteps; ++step, ++call.seq) {
            const int64_t begin_ns = step * kStep;
            made.nccl(begin_ns + 5, begin_ns + compute_ns, begin_ns + kStep, call);
            const int64_t gpu = 10 + rank;
            RunDb& run = ranks.run();
            add_step(run, rank, step, {kStep, kStep, 100, compute_ns + kTransfer});
            run.add("activity", {gpu, int64_t{step}, int64_t{1}, compute_ns});
            run.add("activity", {gpu, int64_t{step}, int64_t{2}, kTransfer});
            if (compute_ns < kSlow) run.add("activity", {gpu, int64_t{step}, int64_t{4}, kSlow - compute_ns});
        }
    }
};

// What each AllReduce of rank 3, which is slow, and of the others came after: the one before it and compute.
void name_what_it_came_after(Job& made) {
    for (int64_t rank = 0; rank < Job::kCount; ++rank)
        for (int64_t step = 0; step < Job::kSteps; ++step) {
            const int64_t compute_ns = rank == 3 ? Job::kSlow : Job::kCompute;
            const WorkPath path = {static_cast<int32_t>(step) - 1, false, compute_ns, compute_ns};
            Blob paths;
            if (step > 0) paths.bytes.assign(reinterpret_cast<const char*>(&path), sizeof path);
            made.ranks.run().add("collective_path", {rank, 101 + step, int64_t{0}, step * Job::kStep + 5,
                                                     (step + 1) * Job::kStep, int64_t{1}, int64_t{0}, paths});
        }
}

}  // namespace

// Saved: 13 - 10 a step. The first AllReduce has none before it, so 29 steps are known. p = 1/8 to the 29th.
// Lost: seven ranks wait 3 ms in each.
TEST_CASE("one of eight ranks takes 3 ms longer", "[run_skew]") {
    Job job(3);
    CHECK(job.ranks.ask("SELECT comm, steps, lost_gpu_ns, spread_p50_ns, clock_error_ns, mirror_disagreement,"
                        " straggler_rank, time_saved_per_step_ns, p_value < 1e-26, cause, cause_share, why"
                        " FROM skew") == "c 29 609000000 3000000 0 0.0 3 3000000 1 compute 1.0 -");
    CHECK(job.ranks.ask("SELECT comm_rank, rank_id, saved_ns, largest_steps, late_ns, wait_ns, own_work_ns"
                        " FROM skew_rank WHERE comm_rank IN (0, 3)") ==
          "0 0 0 0 0 87000000 290000000 | 3 3 87000000 29 87000000 0 377000000");
}

TEST_CASE("ranks that are alike have no straggler", "[run_skew]") {
    Job job(-1);
    CHECK(job.ranks.ask("SELECT lost_gpu_ns, straggler_rank, time_saved_per_step_ns, cause, why FROM skew") ==
          "0 - - - no rank is late by enough and more often than by chance");
}

// What a slower clock makes longer is the clock's: 13 ms at 1000 MHz are 10 at 1300.
TEST_CASE("compute that takes longer by a slower clock is the clock's", "[run_skew]") {
    Job job(3, [](Job& made) {
        for (int rank = 0; rank < Job::kCount; ++rank)
            made.ranks[rank].run("INSERT INTO nvml VALUES (5, 0, 'sm_mhz', " +
                                 std::string(rank == 3 ? "1000" : "1300") + ")");
    });
    CHECK(job.ranks.ask("SELECT cause, cause_share > 0.99 FROM skew") == "clocks 1");
}

//   rank 0   ──────12──────   of which 2 run beside the AllReduce: 10 are its work before it
//   rank 3   ──────13──────[ 1 ]
// Between collectives rank 3 has 3 ms more, but the others leave only 2 of the step's 14.
TEST_CASE("no more is saved than the others would leave", "[run_skew]") {
    Job job(3, [](Job& made) {
        Query(made.ranks.run().raw(), "run",
              "UPDATE activity SET ns = 12000000 WHERE classes = 1 AND gpu_id <> 13")
            .step();
    });
    CHECK(job.ranks.ask("SELECT time_saved_per_step_ns, least_saved_per_step_ns, most_saved_per_step_ns,"
                        " straggler_rank FROM skew") == "2000000 - 2000000 3");
}

// Their graphs may wait in collectives for that rank; and steps that leave nothing are not those it was late
// in.
TEST_CASE("graphs, and steps that leave nothing, bound nothing", "[run_skew]") {
    const auto saved_after = [](const char* sql) {
        Job job(3, [&](Job& made) { Query(made.ranks.run().raw(), "run", sql).step(); });
        return job.ranks.ask("SELECT most_saved_per_step_ns FROM skew");
    };
    CHECK(saved_after("UPDATE activity SET ns = 12000000, classes = 256 WHERE classes = 1 AND gpu_id = 12") ==
          "3000000");
    CHECK(saved_after("UPDATE activity SET ns = 14000000 WHERE classes = 1 AND gpu_id <> 13") == "3000000");
}

TEST_CASE("a GPU that has nothing to do lowers its clock, and is not slow for that", "[run_skew]") {
    Job job(3, [](Job& made) {
        for (int rank = 0; rank < Job::kCount; ++rank) {
            const std::string low = rank == 3 ? "345" : "1300", reasons = rank == 3 ? "1" : "0";
            made.ranks[rank].run("INSERT INTO nvml VALUES (5, 0, 'sm_mhz', " + low +
                                 "), (5, 0, 'throttle_reasons', " + reasons +
                                 "), (6, 0, 'sm_mhz', 1300), (6, 0, 'throttle_reasons', 0)");
        }
    });
    CHECK(job.ranks.ask("SELECT cause, cause_share > 0.99 FROM skew") == "compute 1");
}

// Rank 3's AllReduce could have started 3 ms before: another kernel had its GPU.
TEST_CASE("compute beside a collective that could start is its delay", "[run_skew]") {
    const auto delayed = [](bool is_recorded_of_all) {
        return Job(3,
                   [&](Job& made) {
                       for (int64_t rank = 0; rank < Job::kCount; ++rank)
                           for (int64_t step = 0; step < Job::kSteps; ++step)
                               made.ranks.run().add("comm_step",
                                                    {10 + rank, step, int64_t{0}, int64_t{0},
                                                     rank == 0 && !is_recorded_of_all
                                                         ? Value(nullptr)
                                                         : Value(rank == 3 ? 3 * kMs : int64_t{0})});
                   })
            .ranks.ask("SELECT cause, cause_share FROM skew");
    };
    CHECK(delayed(true) == "start_delay 1.0");
    CHECK(delayed(false) == "compute 1.0");
}

// 2 of its 3 ms longer it waits for input, 1 it computes: no part is 80 %.
TEST_CASE("a cause that explains less than four fifths is not named", "[run_skew]") {
    Job job(3, [](Job& made) {
        for (int64_t step = 0; step < Job::kSteps; ++step)
            made.ranks.run().add("gap", {int64_t{13}, step, std::string("input_wait"), std::string(), 2 * kMs,
                                         int64_t{1}, 2 * kMs, int64_t{0}, int64_t{0}});
        Query less(made.ranks.run().raw(), "run",
                   "UPDATE activity SET ns = ns - 2000000 WHERE gpu_id = 13 AND classes = 1");
        less.step();
    });
    CHECK(job.ranks.ask("SELECT straggler_rank, cause, round(cause_share, 3) FROM skew") ==
          "3 unattributed 0.667");
}

// All but rank 3 run one kernel; rank 3's own is most of its time: it does other work, for which they wait.
TEST_CASE("a rank that runs other kernels is told from one that is slow", "[run_skew]") {
    const auto kernels = [](int64_t own_of_rank_3_ns) {
        return [own_of_rank_3_ns](Job& made) {
            const auto kernel = [&](int64_t rank, const char* name, int64_t ns) {
                Query insert(made.ranks.run().raw(), "run",
                             "INSERT INTO kernel (gpu_id, name, launches, graph_launches, timed, sum_ns,"
                             " union_ns, small, overlapped, overlapped_ns, alone, alone_ns, comm_source)"
                             " VALUES (?1, ?2, 1, 0, 1, ?3, ?3, 0, 0, 0, 1, ?3, 'none')");
                insert.bind(1, 10 + rank);
                insert.bind(2, std::string(name));
                insert.bind(3, ns);
                insert.step();
            };
            for (int rank = 0; rank < Job::kCount; ++rank) kernel(rank, "gemm", 1000);
            kernel(3, "embedding", own_of_rank_3_ns);
        };
    };
    const auto asked = [&](int64_t own_of_rank_3_ns) {
        return Job(3, kernels(own_of_rank_3_ns)).ranks.ask("SELECT straggler_rank, cause FROM skew");
    };
    CHECK(asked(50) == "3 compute");
    CHECK(asked(500) == "3 other_work");
}

// The spread is 3 ms; two clocks that are off by 2 ms each say nothing of it.
TEST_CASE("a spread below the clock error is refused", "[run_skew]") {
    Job job(3, [](Job& made) {
        made.ranks[1].facts.clock_error_ns = made.ranks[2].facts.clock_error_ns = 2 * kMs;
    });
    CHECK(job.ranks.ask("SELECT spread_p50_ns, clock_error_ns, time_saved_per_step_ns, why FROM skew") ==
          "- 4000000 3000000 the spread of starts is below the clock error of 4000000 ns");
    CHECK(job.ranks.ask("SELECT spread_p50_ns FROM collective_stat") == "-");
}

TEST_CASE("steps that do not count are left out", "[run_skew]") {
    Job job(3, [](Job& made) {
        for (int rank = 0; rank < Job::kCount; ++rank)
            for (int step = 0; step < 10; ++step)
                made.ranks[rank].facts.steps[static_cast<size_t>(step)].is_warm_up = true;
    });
    CHECK(job.ranks.ask("SELECT steps, lost_gpu_ns FROM skew") == "20 420000000");
}

// B's clock shows 1000 more. Both end within 10: A in [s 100, e 160], B in [s 1150, e 1160] by its own.
//   lower bound: last start of A - first end of B = 100 - 1160 = -1060
//   upper bound: first end of A - last start of B = 160 - 1150 =  -990
// and 1 ns more on either side, for what they may drift apart until the middle of it.
TEST_CASE("clocks of two hosts are bounded by their barriers", "[run_skew]") {
    Ranks ranks(0);
    ranks.add("a").communicator("c", 0, 2);
    ranks.add("b").communicator("c", 1, 2);
    ranks.add("b");
    ranks.add("alone");
    ranks[0].nccl(50, 100, 160);
    ranks[1].nccl(1050, 1150, 1160);
    ranks.write();
    CHECK(ranks.ask("SELECT host, to_host, point_ns, low_ns, high_ns FROM clock_offset ORDER BY host") ==
          "a a 0 0 0 | alone a - - - | b a -1000 -1061 -989");
    CHECK(ranks.ask("SELECT spread_p50_ns, clock_error_ns FROM skew") == "50 36");
}

// Late in the first 10 of 100 steps of 50 a window: named for that window and not for the run.
TEST_CASE("a rank that is late for a while", "[run_skew]") {
    Ranks ranks(2);
    for (int rank = 0; rank < 2; ++rank) {
        ranks[rank].steps(120, 0, 1000);
        NcclCall call;
        for (int64_t step = 0; step < 120; ++step, ++call.seq) {
            const bool late = rank == (step < 60 ? 1 : static_cast<int>(step % 2));
            ranks[rank].nccl(step * 1000 + 5, step * 1000 + (late ? 300 : 100), step * 1000 + 400, call);
        }
    }
    ranks.write();
    CHECK(ranks.ask("SELECT comm, first_step, last_step, comm_rank, saved_ns, p_value < 0.001"
                    " FROM straggler_window") == "c 1 50 1 10000 1");
}

//  #1 AllReduce   send #1   #2 AllReduce      own work since #1: 60 and 80
TEST_CASE("what goes between two ranks does not part their collectives", "[run_skew]") {
    Ranks ranks(2);
    for (int rank = 0; rank < 2; ++rank) {
        ranks[rank].steps(1, 0, 1000);
        NcclCall call;
        ranks[rank].nccl(50, 100, 160, call);
        call.seq = 2;
        ranks[rank].nccl(210, 220 + 20 * rank, 300, call);
        call.seq = 1;
        call.api = rank == 0 ? "ncclSend" : "ncclRecv";
        call.peer = 1 - rank;
        ranks[rank].nccl(180, 190, 200, call);
    }
    ranks.write();
    CHECK(ranks.ask("SELECT comm_rank, own_work_ns FROM skew_rank") == "0 60 | 1 80");
}

//  #1   #2   #3 captured   #4   #5      from #3 on its replays are somewhere in between
TEST_CASE("behind a captured collective nothing is known to be own work", "[run_skew]") {
    const auto made = [](int flags) {
        auto ranks = std::make_unique<Ranks>(2);
        for (int rank = 0; rank < 2; ++rank) {
            (*ranks)[rank].steps(1, 0, 1000);
            NcclCall call;
            for (; call.seq <= 5; ++call.seq) {
                const int64_t at_ns = call.seq * 100;
                call.flags = call.seq == 3 ? flags : 0;
                (*ranks)[rank].nccl(at_ns, at_ns + 10, at_ns + 60, call);
            }
        }
        ranks->write();
        return ranks;
    };
    CHECK(made(0)->ask("SELECT own_work_ns FROM skew_rank") == "200 | 200");
    CHECK(made(1)->ask("SELECT own_work_ns FROM skew_rank") == "50 | 50");
}

// B and A never met, but both met C, whose clock shows 5000 more than A's; B's shows 10 s and 1000 more.
//
//   A  100 ─ 160                            C to A: 100 - 5160 = -5060 .. 160 - 5100 = -4940
//   C  5100 ─ 5160      5300 ─ 5360         B to C, less 10 s: 5300 - 1360 = 3940 .. 5360 - 1300 = 4060
//   B                   1300 ─ 1360, and 10 s
TEST_CASE("hosts that never met are compared by way of another", "[run_skew]") {
    constexpr int64_t kTenSeconds = 10'000'000'000;
    Ranks ranks(0);
    ranks.add("a").communicator("x", 0, 2);
    ranks.add("b").communicator("y", 0, 2);
    ranks.add("c").communicator("x", 1, 2);
    ranks[2].communicator("y", 1, 2, 2);
    ranks[0].nccl(50, 100, 160);
    ranks[2].nccl(5050, 5100, 5160);
    NcclCall call;
    call.communicator = 2;
    ranks[2].nccl(5250, 5300, 5360, call);
    ranks[1].nccl(kTenSeconds + 1250, kTenSeconds + 1300, kTenSeconds + 1360);
    ranks.write();
    // 1 ns more for each way and side, for what they may drift.
    CHECK(ranks.ask("SELECT host, point_ns, low_ns, high_ns FROM clock_offset ORDER BY host") ==
          "a 0 0 0 | b -10000001000 -10000001122 -10000000878 | c -5000 -5061 -4939");
}

// Ranks 0 and 1 run one kernel, 2 and 3 another. In each step rank 0 costs the job 30, rank 2 less or more.
TEST_CASE("of several kinds of ranks the straggler that costs most is named", "[run_skew]") {
    const auto straggler = [](int64_t cost_of_rank_2) {
        Ranks ranks(4);
        for (int64_t rank = 0; rank < 4; ++rank) {
            Rank& made = ranks[static_cast<int>(rank)];
            made.steps(20, 0, 1000);
            NcclCall call;
            for (int64_t begin_ns = 0; begin_ns < 20'000; begin_ns += 1000) {
                made.nccl(begin_ns + 5, begin_ns + (rank == 0 ? 130 : 100), begin_ns + 500, call);
                ++call.seq;
                made.nccl(begin_ns + 505, begin_ns + 600 + (rank == 2 ? cost_of_rank_2 : 0), begin_ns + 1000,
                          call);
                ++call.seq;
            }
            Query insert(ranks.run().raw(), "run",
                         "INSERT INTO kernel (gpu_id, name, sum_ns) VALUES (?1, ?2, 100)");
            insert.bind(1, 10 + rank);
            insert.bind(2, std::string(rank < 2 ? "first" : "second"));
            insert.step();
        }
        ranks.write();
        return ranks.ask("SELECT straggler_rank, time_saved_per_step_ns FROM skew");
    };
    CHECK(straggler(20) == "0 28");  // 19 of the 20 steps have their first AllReduce's work
    CHECK(straggler(40) == "2 40");
}

TEST_CASE("what is said of the first collectives only is said to be", "[run_skew]") {
    const auto asked = [](const ReplayLimits& limits) {
        return Job(3, name_what_it_came_after, limits)
            .ranks.ask(
                "SELECT steps, straggler_rank, time_saved_per_step_ns, first_collectives,"
                " of_collectives FROM skew");
    };
    CHECK(asked({}) == "29 3 3000000 - -");
    CHECK(asked({.of_a_rank = Job::kSteps}) == "29 3 3000000 - -");
    CHECK(asked({.of_a_rank = 12}) == "11 3 3000000 12 30");
    CHECK(asked({.of_all_ranks = 20 * Job::kCount}) == "19 3 3000000 20 30");
    CHECK(asked({.of_a_rank = 12, .of_all_ranks = 20 * Job::kCount}) == "11 3 3000000 12 30");
}

}  // namespace run_skew_test
