// Collectives of all ranks: matched, timed and written, worked out by hand.
#include <catch2/catch.hpp>

#include "made_ranks.h"

namespace run_collectives_test {

using namespace made;

namespace {

const char* const kInstances =
    "SELECT instance, rank_id, op, seq, calls, bytes, whole_bytes, ranks, parts, start_ns, own_ns, wait_ns,"
    " transfer_ns, transfer_by FROM collective_instance ORDER BY instance, rank_id";

}  // namespace

//  rank 0   100[████████████]160      own 60, waited 40
//  rank 1              140[█]160      own 20, waited 0: the transfer
TEST_CASE("two ranks: the shortest is the transfer, the rest is waiting", "[run_collectives]") {
    Ranks ranks(2);
    ranks[0].nccl(50, 100, 160);
    ranks[1].nccl(90, 140, 160);
    ranks.write();
    CHECK(ranks.ask(kInstances) ==
          "0 0 allreduce 1 1 4096 4096 2 2 100 60 40 20 shortest | "
          "0 1 allreduce 1 1 4096 4096 2 2 140 20 0 20 shortest");
    CHECK(ranks.ask("SELECT comm, dtype, gpu_id, stream_id, custom, captured, replays, step"
                    " FROM collective_instance WHERE rank_id = 1") == "c float32 11 2 0 0 1 -");
}

//  rank 0   100[██████████████]160    from the last start to the last end 20; the shortest is 10, for rank 1
//  rank 1              140[█]150      was done before
TEST_CASE("where ranks end apart the transfer is from the last start on", "[run_collectives]") {
    const auto made = [](int64_t clock_error_ns) {
        Ranks ranks(2);
        ranks[0].nccl(50, 100, 160);
        ranks[1].nccl(90, 140, 150);
        for (int rank : {0, 1}) ranks[rank].facts.clock_error_ns = clock_error_ns;
        ranks.write();
        return ranks.ask(
                   "SELECT wait_ns, transfer_ns, transfer_by FROM collective_instance"
                   " ORDER BY rank_id") +
               " | " + ranks.ask("SELECT transfer_p50_ns, transfer_by FROM collective_stat");
    };
    CHECK(made(0) == "40 20 last_start | 0 20 last_start | 20 last_start");
    CHECK(made(4) == "40 20 last_start | 0 20 last_start | 20 last_start");
    // The clocks may be off by as much as the two differ.
    CHECK(made(5) == "50 10 shortest | 0 10 shortest | 10 shortest");
}

TEST_CASE("a launch is asked for by rank and enter", "[run_collectives]") {
    Ranks ranks(2);
    ranks[0].nccl(50, 100, 160);
    ranks[1].nccl(90, 140, 160);
    const Collectives& all = ranks.match();
    CHECK(wait_of(all, 0, 51) == 40);
    CHECK(wait_of(all, 1, 91) == 0);
    CHECK(wait_of(all, 0, 50) == kNotRecorded);
    CHECK(wait_of(all, 0, 91) == kNotRecorded);
    CHECK(wait_of(all, 2, 51) == kNotRecorded);
}

//  rank 0   100[███]130 130[██]160    two kernels of one call, waited 40: 30 in the first, 10 in the second
//  rank 1              140[██]160
TEST_CASE("the wait lies at the beginning, over several kernels", "[run_collectives]") {
    Ranks ranks(2);
    ranks[0].nccl(50, 100, 130);
    ranks[0].launch(53, kAllReduceShape, 2, "101");
    ranks[0].device(53, 130, 160);
    ranks[1].nccl(90, 140, 160);
    const Collectives& all = ranks.match();
    CHECK(wait_of(all, 0, 51) == 30);
    CHECK(wait_of(all, 0, 53) == 10);
}

TEST_CASE("the time of several kernels is from the first start to the last end", "[run_collectives]") {
    Ranks ranks(1);
    ranks[0].nccl(50, 100, 130);
    ranks[0].launch(53, kAllReduceShape, 2, "101");
    ranks[0].device(53, 120, 125);
    ranks.write();
    CHECK(ranks.ask("SELECT start_ns, own_ns FROM collective_instance") == "100 30");
}

// A group of two communicators on one stream: which of the kernels is whose nobody says.
TEST_CASE("kernels that two communicators could have launched are nobody's", "[run_collectives]") {
    Ranks ranks(2);
    for (int rank = 0; rank < 2; ++rank) {
        ranks[rank].communicator("d", rank, 2, 2);
        NcclCall call;
        call.group = 7;
        ranks[rank].nccl(50, 100, 130, call);
        call.communicator = 2;
        ranks[rank].nccl(70, 130, 150, call);
    }
    ranks.write();
    CHECK(ranks.ask("SELECT comm, parts, own_ns, transfer_ns FROM collective_instance WHERE rank_id = 0") ==
          "c 2 - - | d 2 - -");
}

// Kernels are launched when the group ends, which is no call of a collective.
TEST_CASE("calls of a group are one instance, with their bytes together", "[run_collectives]") {
    Ranks ranks(2);
    for (int rank = 0; rank < 2; ++rank) {
        NcclCall call;
        call.group = 7;
        call.kernel = false;
        ranks[rank].nccl(50, 0, 0, call);
        call.seq = 2;
        call.bytes = 8192;
        ranks[rank].nccl(60, 0, 0, call);
        ranks[rank].launch(80, kAllReduceShape, 2, "7");
        ranks[rank].device(80, 100 + 10 * rank, 160);
        call = {};
        call.seq = 3;
        ranks[rank].nccl(200, 300, 350, call);
    }
    ranks.write();
    CHECK(ranks.ask(kInstances) ==
          "0 0 allreduce 1 2 12288 12288 2 2 100 60 10 50 shortest | "
          "0 1 allreduce 1 2 12288 12288 2 2 110 50 0 50 shortest | "
          "1 0 allreduce 3 1 4096 4096 2 2 300 50 0 50 shortest | "
          "1 1 allreduce 3 1 4096 4096 2 2 300 50 0 50 shortest");
}

// One process, two GPUs: the calls of both are in one group, and each has the kernel on its own stream.
TEST_CASE("one process can be all ranks of a communicator", "[run_collectives]") {
    Ranks ranks(0);
    Rank& both = ranks.add("host");
    both.run("INSERT INTO device (id, uuid, name, memory_bytes) VALUES (1, 'GPU-b', 'Made', 1)");
    both.run("INSERT INTO context VALUES (2, 1, 1)");
    both.run("INSERT INTO stream VALUES (3, NULL, 2, 'made', NULL, 1, 0)");
    both.facts.lanes.push_back({3, 1, 2, 1, false, false});
    both.facts.gpus.push_back({77, 1, "GPU-b", "Made", false, {}});
    both.communicator("c", 0, 2, 1, 0);
    both.communicator("c", 1, 2, 2, 1);
    NcclCall call;
    call.group = 7;
    both.nccl(50, 100, 160, call);
    call.communicator = 2;
    call.stream = 3;
    both.nccl(70, 120, 160, call);
    const Collectives& all = ranks.match();
    CHECK(wait_of(all, 0, 51) == 20);
    CHECK(wait_of(all, 0, 71) == 0);
}

// Rank 2's trace is not there.
TEST_CASE("a missing rank leaves own durations only", "[run_collectives]") {
    Ranks ranks(2, 3);
    ranks[0].nccl(50, 100, 160);
    ranks[1].nccl(90, 140, 160);
    ranks.write();
    CHECK(ranks.ask(kInstances) ==
          "0 0 allreduce 1 1 4096 4096 3 2 100 60 - - - | 0 1 allreduce 1 1 4096 4096 3 2 140 20 - - -");
    CHECK(ranks.ask("SELECT ranks, seen FROM communicator") == "3 2");
    CHECK(ranks.ask("SELECT timed, complete, own_sum_ns, transfer_p50_ns FROM collective_stat") ==
          "0 0 80 -");
    CHECK(ranks.ask("SELECT lost_gpu_ns, why FROM skew") ==
          "- 2 of 3 ranks; no two collectives in a row were timed on all ranks in a step that counts");
}

// It may have waited in each of them, the quickest too.
TEST_CASE("of one rank alone it is not known what waited and what moved data", "[run_collectives]") {
    Ranks ranks(1, 4);
    NcclCall call;
    for (const int64_t own_ns : {30, 20, 50}) {
        ranks[0].nccl(call.seq * 1000, call.seq * 1000 + 100, call.seq * 1000 + 100 + own_ns, call);
        ++call.seq;
    }
    ranks.write();
    CHECK(
        ranks.ask("SELECT own_ns, wait_ns, transfer_ns, transfer_by FROM collective_instance ORDER BY seq") ==
        "30 - - - | 20 - - - | 50 - - -");
    CHECK(ranks.ask("SELECT transfer_by, transfer_p50_ns, count FROM collective_stat") == "- - 3");
}

TEST_CASE("ranks that called something else are two instances and a mismatch", "[run_collectives]") {
    Ranks ranks(2);
    NcclCall broadcast;
    broadcast.api = "ncclBroadcast";
    broadcast.peer = 0;
    ranks[0].nccl(50, 100, 160);
    ranks[1].nccl(90, 140, 160, broadcast);
    NcclCall more;
    more.seq = 2;
    ranks[0].nccl(250, 300, 360, more);
    more.bytes = 64;
    ranks[1].nccl(290, 340, 360, more);
    ranks.write();
    CHECK(ranks.ask("SELECT seq, kind, rank, other_rank, said, other_said FROM collective_mismatch") ==
          "1 op 0 1 allreduce broadcast | 2 bytes 0 1 4096 64");
    CHECK(ranks.ask("SELECT op, parts, transfer_ns FROM collective_instance ORDER BY instance") ==
          "allreduce 1 - | broadcast 1 - | allreduce 1 - | allreduce 1 -");
}

// Captured once, with one kernel; the graph that is instantiated behind it has one of NCCL and is launched
// three times, once in a step that does not count.
TEST_CASE("a captured call ran as often as its graph was launched", "[run_collectives]") {
    const auto made = [](int64_t kernels_in_graph) {
        auto ranks = std::make_unique<Ranks>(1);
        Rank& rank = (*ranks)[0];
        rank.steps(3, 1000, 1000);
        rank.facts.steps[0].is_warm_up = true;
        rank.run("INSERT INTO name VALUES (1, 'ncclDevKernel_AllReduce_Sum_f32_RING_LL', NULL)");
        rank.run("INSERT INTO handle VALUES (60, 'function', 1, 0, NULL, NULL, 0, 1)");
        rank.run("INSERT INTO handle VALUES (61, 'exec', 2, 80, NULL, NULL, 0, NULL)");
        rank.run("INSERT INTO graph VALUES (5, 61, 4, 0, 0, 0, 0)");
        rank.run("INSERT INTO graph_kernel VALUES (5, 60, " + std::to_string(kernels_in_graph) + ")");
        for (const char* enter : {"1100", "2100", "3100"})
            rank.run("INSERT INTO graph_launch VALUES (" + std::string(enter) + ", 10, 1, 1, 1, 5, 0)");
        NcclCall call;
        call.flags = 1;
        rank.nccl(50, 0, 0, call);
        ranks->write();
        return ranks;
    };
    CHECK(made(1)->ask("SELECT captured, replays, step, own_ns FROM collective_instance") == "1 3 - -");
    CHECK(made(1)->ask("SELECT count, in_steps, timed FROM collective_stat") == "3 2 0");
    CHECK(made(2)->ask("SELECT captured, replays FROM collective_instance") == "1 -");
}

TEST_CASE("an aborted communicator gives no transfer", "[run_collectives]") {
    Ranks ranks(2);
    for (int rank = 0; rank < 2; ++rank) {
        NcclCall call;
        ranks[rank].nccl(50, 100, 160, call);
        call.seq = 2;
        ranks[rank].nccl(250, 300, 900, call);
        ranks[rank].run("INSERT INTO api VALUES (90, 'ncclCommAbort', 'ncclCommAbort', 'died')");
        ranks[rank].run("INSERT INTO call VALUES (800, 10, 1, 90, 50, NULL, NULL, 0, NULL, NULL)");
    }
    ranks.write();
    CHECK(ranks.ask("SELECT seq, own_ns, transfer_ns FROM collective_instance WHERE rank_id = 0") ==
          "1 60 60 | 2 600 -");
}

//  rank 0   100[send     ]160
//  rank 1  60[recv       ]160     waited 40 for the sender, by the one clock of their host
TEST_CASE("a receiver waits for its sender, where clocks can be compared", "[run_collectives]") {
    const auto made = [](int64_t clock_error_ns) {
        auto ranks = std::make_unique<Ranks>(2);
        NcclCall call;
        call.api = "ncclSend";
        call.peer = 1;
        (*ranks)[0].nccl(50, 100, 160, call);
        call.api = "ncclRecv";
        call.peer = 0;
        (*ranks)[1].nccl(50, 60, 160, call);
        (*ranks)[0].facts.clock_error_ns = (*ranks)[1].facts.clock_error_ns = clock_error_ns;
        ranks->write();
        return ranks;
    };
    CHECK(made(5)->ask(kInstances) ==
          "0 0 send 1 1 4096 4096 2 2 100 60 - - - | 0 1 send 1 1 4096 4096 2 2 60 100 40 - -");
    CHECK(made(20)->ask("SELECT wait_ns FROM collective_instance ORDER BY rank_id") == "- | -");
}

//  rank 0  100[send, recv             ]1600     in one kernel, which waited for the other's: a pipeline's
//  bubble rank 1                 1000[       ]1600
TEST_CASE("a kernel of several messages waits for the other end of each", "[run_collectives]") {
    Ranks ranks(2);
    for (int rank = 0; rank < 2; ++rank) {
        NcclCall call;
        call.group = 7;
        call.kernel = false;
        call.peer = 1 - rank;
        call.api = "ncclSend";
        ranks[rank].nccl(50, 0, 0, call);
        call.api = "ncclRecv";
        ranks[rank].nccl(60, 0, 0, call);
        ranks[rank].launch(80, kAllReduceShape, 2, "7");
        ranks[rank].device(80, rank == 0 ? 100 : 1000, 1600);
        ranks[rank].facts.clock_error_ns = 5;
    }
    const Collectives& all = ranks.match();
    CHECK(wait_of(all, 0, 80) == 900);
    CHECK(wait_of(all, 1, 80) == 0);
}

TEST_CASE("kernels that are collectives by name are instances of their own", "[run_collectives]") {
    Ranks ranks(1, -1);
    ranks[0].steps(1, 0, 1000);
    ranks[0].launch(10, kGemmShape, 1);
    ranks[0].launch(20, kCustomShape, 1);
    ranks[0].device(20, 40, 90);
    ranks[0].launch(30, kCustomShape, 1);
    ranks[0].launch(35, kCustomShape, 1, "7");  // of a call of NCCL
    ranks.write();
    CHECK(ranks.ask("SELECT comm, seq, op, bytes, step, start_ns, own_ns, wait_ns, gpu_id, custom"
                    " FROM collective_instance ORDER BY instance") ==
          "- 1 allreduce - 0 40 50 - 10 1 | - 2 allreduce - 0 - - - 10 1");
}

TEST_CASE("calls that failed are not there, unfinished ones give no transfer", "[run_collectives]") {
    Ranks ranks(2);
    NcclCall call;
    call.flags = 2;
    for (int rank = 0; rank < 2; ++rank) ranks[rank].nccl(50, 100, 160, call);
    call.seq = 2;
    call.flags = 0;
    ranks[0].nccl(250, 300, 360, call);
    call.flags = 4;
    call.kernel = false;
    call.group = 7;
    ranks[1].nccl(250, 0, 0, call);
    ranks[1].launch(251, kAllReduceShape, 2, "7");
    ranks[1].device(251, 320, 360);
    ranks.write();
    CHECK(ranks.ask("SELECT seq, parts, transfer_ns FROM collective_instance") == "2 2 - | 2 2 -");
}

}  // namespace run_collectives_test
