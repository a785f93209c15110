// Collectives of ranks that do not say where they belong, that are there twice, or of which rows are gone.
#include <catch2/catch.hpp>

#include "made_ranks.h"

namespace run_seats_test {

using namespace made;

// As importers make them of kernels that nothing but their name explains.
TEST_CASE("calls that tell no communicator are instances of their own", "[run_seats]") {
    Ranks ranks(2, -1);
    for (int rank = 0; rank < 2; ++rank) {
        ranks[rank].run(
            "INSERT INTO api VALUES (1, 'ncclAllReduce', 'ncclAllReduce', 'collective'),"
            " (2, 'SendRecv', 'SendRecv', 'collective')");
        ranks[rank].run(
            "INSERT INTO collective VALUES (50, NULL, NULL, 2, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, "
            "1, 0),"
            " (250, NULL, NULL, 2, 2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 2, 0)");
        ranks[rank].launch(50, kAllReduceShape, 2, "1");
        ranks[rank].device(50, 100, 160 + rank);
        ranks[rank].launch(250, kAllReduceShape, 2, "2");
        ranks[rank].device(250, 300, 390);
    }
    ranks.write();
    CHECK(ranks.ask("SELECT rank_id, comm, seq, op, bytes, ranks, comm_rank, own_ns, wait_ns, gpu_id, custom"
                    " FROM collective_instance ORDER BY instance") ==
          "0 - 1 allreduce - - - 60 - 10 1 | 0 - 2 sendrecv - - - 90 - 10 1 | "
          "1 - 1 allreduce - - - 61 - 11 1 | 1 - 2 sendrecv - - - 90 - 11 1");
    CHECK(ranks.ask("SELECT count(*) FROM communicator") == "0");
    CHECK(ranks.ask("SELECT op, count, own_sum_ns, efficiency_by FROM collective_stat ORDER BY own_sum_ns") ==
          "allreduce 1 60 few_instances | allreduce 1 61 few_instances | sendrecv 1 90 few_instances | "
          "sendrecv 1 90 "
          "few_instances");
}

// Two ranks' traces of one communicator, and neither says which rank it is: each is alone.
TEST_CASE("a rank that does not know its place is alone", "[run_seats]") {
    Ranks ranks(2, -1);
    for (int rank = 0; rank < 2; ++rank) {
        ranks[rank].run("INSERT INTO communicator VALUES (1, 'c', NULL, NULL, NULL, 4, NULL)");
        NcclCall call;
        ranks[rank].nccl(50, 100, 160, call);
        call.seq = 2;
        ranks[rank].nccl(250, 300, 350, call);
    }
    ranks.write();
    CHECK(ranks.ask("SELECT comm, ranks, comm_rank, wait_ns, transfer_by, gpu_id, custom"
                    " FROM collective_instance WHERE rank_id = 1 ORDER BY seq") ==
          "c of trace 1 4 - - - 11 0 | c of trace 1 4 - - - 11 0");
    CHECK(ranks.ask("SELECT comm, ranks, seen FROM communicator ORDER BY comm") ==
          "c of trace 0 4 1 | c of trace 1 4 1");
    CHECK(ranks.ask("SELECT DISTINCT why FROM skew") ==
          "its trace does not say which rank it is; no two collectives in a row were timed on all ranks in a "
          "step that counts");
}

TEST_CASE("of a rank that is there twice the first trace counts", "[run_seats]") {
    Ranks ranks(2);
    ranks.add("host").communicator("c", 1, 2);
    ranks[0].nccl(50, 100, 160);
    ranks[1].nccl(90, 140, 160);
    ranks[2].nccl(95, 150, 160);
    ranks.write();
    CHECK(ranks.ask("SELECT rank_id, parts, wait_ns FROM collective_instance ORDER BY rank_id") ==
          "0 2 40 | 1 2 0");
    CHECK(ranks.ask("SELECT ranks, seen FROM communicator") == "2 2");
}

// Rows of one rank are gone: seconds later the others are matched by their numbers all the same.
TEST_CASE("a hole in one rank's calls shifts nothing", "[run_seats]") {
    Ranks ranks(2);
    NcclCall call;
    for (; call.seq <= 3; ++call.seq) {
        const int64_t at_ns = call.seq * 1000;
        ranks[0].nccl(at_ns, at_ns + 100, at_ns + 160, call);
        if (call.seq != 2) ranks[1].nccl(at_ns, at_ns + 150, at_ns + 160, call);
    }
    ranks.write();
    CHECK(ranks.ask("SELECT seq, parts, wait_ns FROM collective_instance WHERE rank_id = 0 ORDER BY seq") ==
          "1 2 50 | 2 1 - | 3 2 50");
}

// Its row was written again, when the trace was opened again.
TEST_CASE("rows of one communicator and rank in a trace are one seat", "[run_seats]") {
    Ranks ranks(2);
    for (int rank = 0; rank < 2; ++rank) {
        ranks[rank].communicator("c", rank, 2, 2);
        NcclCall call;
        ranks[rank].nccl(50, 100 + 10 * rank, 160, call);
        call.seq = 2;
        call.communicator = 2;
        ranks[rank].nccl(250, 300 + 10 * rank, 360, call);
    }
    ranks.write();
    CHECK(ranks.ask("SELECT seq, parts, wait_ns FROM collective_instance WHERE rank_id = 0 ORDER BY seq") ==
          "1 2 10 | 2 2 10");
}

}  // namespace run_seats_test
