// Groups of messages: what their kernel waited for, and those that are all-to-alls.
#include <catch2/catch.hpp>

#include <functional>

#include "made_ranks.h"

namespace exchanges_test {

using namespace made;

namespace {

const char* const kOps =
    "SELECT op, count(*), count(DISTINCT instance), min(bytes), min(parts) FROM collective_instance GROUP BY "
    "op";

using Partners = std::function<std::vector<int>(int rank)>;
using Bytes = std::function<int64_t(int rank, int partner)>;

// All exchange messages with their partners in one group, in a kernel that ends at 1600; the last rank is
// late.
void exchange(Ranks& ranks, int count, const Partners& partners, const Bytes& bytes, int64_t later_ns = 0) {
    for (int rank = 0; rank < count; ++rank) {
        NcclCall call;
        call.group = 7 + later_ns;
        call.seq += later_ns > 0;
        call.kernel = false;
        int64_t at_ns = 20 + later_ns;
        for (const int partner : partners(rank)) {
            call.peer = partner;
            call.bytes = bytes(rank, partner);
            call.api = "ncclSend";
            ranks[rank].nccl(++at_ns, 0, 0, call);
            call.bytes = bytes(partner, rank);
            call.api = "ncclRecv";
            ranks[rank].nccl(++at_ns, 0, 0, call);
        }
        ranks[rank].launch(90 + later_ns, kAllReduceShape, 2, std::to_string(7 + later_ns));
        ranks[rank].device(90 + later_ns, later_ns + (rank == count - 1 ? 1000 : 100), later_ns + 1600);
        ranks[rank].facts.clock_error_ns = 5;
    }
}

int64_t same(int, int) { return 4096; }

std::vector<int> all_of(int count) {
    std::vector<int> all;
    for (int rank = 0; rank < count; ++rank) all.push_back(rank);
    return all;
}

}  // namespace

//  rank 0  100[with 1 and 3         ]1600     its first message is for rank 1, which was there
//  rank 1  100[with 2 and 0         ]1600     waits for nobody
//  rank 2  100[with 3 and 1         ]1600
//  rank 3                1000[      ]1600
TEST_CASE("a kernel waits as long as the message that waits longest", "[run_collectives][exchanges]") {
    Ranks ranks(4);
    exchange(
        ranks, 4,
        [](int rank) {
            return std::vector<int>{(rank + 1) % 4, (rank + 3) % 4};
        },
        same);
    const Collectives& all = ranks.match();
    for (int rank = 0; rank < 4; ++rank) CHECK(wait_of(all, rank, 90) == (rank % 2 == 0 ? 900 : 0));
}

TEST_CASE("messages of each rank with all are one all-to-all", "[run_collectives][exchanges]") {
    Ranks ranks(3);
    exchange(
        ranks, 3, [](int) { return all_of(3); }, same);
    ranks[0].nccl(2000, 2010, 2060);  // an AllReduce of the same communicator, with a number of its own
    ranks[1].nccl(2000, 2010, 2060);
    ranks[2].nccl(2000, 2050, 2060);
    ranks.write();
    CHECK(ranks.ask(kOps) == "allreduce 3 1 4096 3 | alltoall 3 1 4096 3");
    CHECK(ranks.ask("SELECT rank_id, own_ns, wait_ns, transfer_ns, whole_bytes FROM collective_instance"
                    " WHERE op = 'alltoall' ORDER BY rank_id") ==
          "0 1500 900 600 12288 | 1 1500 900 600 12288 | 2 600 0 600 12288");
}

//  rank 0   |all-to-all|──100──[AllReduce  400 ]|       rank 2 makes the others wait between an all-to-all
//  rank 1   |all-to-all|──100──[AllReduce  400 ]|       and the AllReduce of the same communicator
//  rank 2   |all-to-all|──450──────[       50  ]|
TEST_CASE("work between an all-to-all and a collective is a rank's own", "[run_collectives][exchanges]") {
    const auto own_work = [](int64_t called_by_rank_1_ns) {
        Ranks ranks(3);
        exchange(
            ranks, 3, [](int) { return all_of(3); }, same);
        ranks[0].nccl(1650, 1700, 2100);
        ranks[1].nccl(called_by_rank_1_ns, 1700, 2100);
        ranks[2].nccl(1650, 2050, 2100);
        for (int rank = 0; rank < 3; ++rank) ranks[rank].steps(1, 0, 3000);
        ranks.write();
        return ranks.ask("SELECT comm_rank, own_work_ns, late_ns FROM skew_rank ORDER BY comm_rank");
    };
    CHECK(own_work(1650) == "0 100 0 | 1 100 0 | 2 450 350");
    CHECK(own_work(5) == "");  // before its all-to-all: there is no one order
}

TEST_CASE("an all-to-all of uneven messages has no size", "[run_collectives][exchanges]") {
    Ranks ranks(3);
    exchange(
        ranks, 3, [](int) { return all_of(3); },
        [](int rank, int partner) { return 1000 + 100 * rank + partner; });
    exchange(
        ranks, 3, [](int) { return all_of(3); }, same, 2000);  // another
    ranks.write();
    CHECK(ranks.ask("SELECT instance, op, count(*), min(bytes) FROM collective_instance GROUP BY instance") ==
          "0 alltoall 3 - | 1 alltoall 3 4096");
    CHECK(ranks.ask("SELECT count(*) FROM collective_mismatch") == "0");
}

TEST_CASE("what is not with all stays messages", "[run_collectives][exchanges]") {
    const auto ops = [](int count, const Partners& partners) {
        Ranks ranks(count);
        exchange(ranks, count, partners, same);
        ranks.write();
        return ranks.ask(kOps);
    };
    const auto without = [](int count, int one, int other) {
        return [=](int rank) {
            std::vector<int> partners = all_of(count);
            std::erase(partners, rank == one ? other : rank == other ? one : -1);
            return partners;
        };
    };
    CHECK(ops(3, without(3, 0, 2)) == "send 8 4 4096 2");
    CHECK(ops(2, [](int rank) { return std::vector<int>{1 - rank}; }) == "send 4 2 4096 2");
    CHECK(ops(2, [](int) { return all_of(2); }) == "alltoall 2 1 4096 2");
    CHECK(ops(3, [](int rank) {
              return std::vector<int>{(rank + 1) % 3, (rank + 2) % 3};
          }) == "alltoall 3 1 4096 3");
}

TEST_CASE("of some ranks alone messages are not joined", "[run_collectives][exchanges]") {
    Ranks ranks(3, 4);
    exchange(
        ranks, 3, [](int) { return all_of(4); }, same);
    ranks.write();
    CHECK(ranks.ask("SELECT DISTINCT op FROM collective_instance") == "send");
}

}  // namespace exchanges_test
