// Transfer and wait of single instances, drawn and counted by hand.
#include "analysis/collective/wait.h"

#include <catch2/catch.hpp>

namespace collective_wait_test {

using namespace gpushim::analysis;

namespace {

CollectiveInstance instance(CollectiveOp op, std::vector<Interval> spans, int ranks = 0, int root = -1) {
    CollectiveInstance made;
    made.op = op;
    made.bytes = made.whole_bytes = 1000;
    made.root = root;
    made.ranks = ranks == 0 ? static_cast<int>(spans.size()) : ranks;
    for (size_t rank = 0; rank < spans.size(); ++rank)
        made.parts.push_back({static_cast<int>(rank), spans[rank]});
    return made;
}

constexpr CollectiveOp kReduce = CollectiveOp::all_reduce;

}  // namespace

//  time     0           12  16          clocks of ranks 1 and 2 are off by 100 and -50: no matter
//  rank 0   ████████████████            16, waited 12
//  rank 1         ██████████            10, waited 6
//  rank 2               ████             4: the transfer
TEST_CASE("the last one to come shows the transfer", "[collective]") {
    const auto wait = wait_in(instance(kReduce, {{0, 16}, {106, 116}, {-38, -34}}));
    REQUIRE(wait);
    CHECK(wait->transfer_ns == 4);
    CHECK(wait->by == TransferBy::shortest);
    CHECK(wait->ranks[0].wait_ns == 12);
    CHECK(wait->ranks[1].wait_ns == 6);
    CHECK(wait->ranks[2].wait_ns == 0);
    CHECK(wait->wait_sum_ns() == 18);
    CHECK(wait->longest_own_ns() == 16);
}

//  time     0     6     12  16 17
//  rank 0   ████████████████           starts 0, waits 12
//  rank 1         ███████████          starts 6, waits  6
//  rank 2               ████           starts 12: transfer from here to the last end, 5
TEST_CASE("with aligned clocks the transfer is from the last start to the last end", "[collective]") {
    const std::vector<int64_t> offsets = {0, -100, 50};
    const CollectiveInstance one = instance(kReduce, {{0, 16}, {106, 117}, {-38, -34}});
    const auto wait = aligned_wait_in(one, offsets);
    REQUIRE(wait);
    CHECK(wait->transfer_ns == 5);
    CHECK(wait->by == TransferBy::last_start);
    CHECK(wait->ranks[0].wait_ns == 12);
    CHECK(wait->ranks[1].wait_ns == 6);
    CHECK(wait->ranks[2].wait_ns == 0);
    CHECK(spread_ns(one, offsets, 12) == 12);
    CHECK(!spread_ns(one, offsets, 13));
    // Clocks that let a rank leave before another has come are not aligned.
    CHECK(!aligned_wait_in(one, std::vector<int64_t>{0, -100, 55}));
}

TEST_CASE("no transfer without all ranks, all times and a barrier", "[collective]") {
    CHECK(!wait_in(instance(kReduce, {{0, 16}, {0, 10}}, 3)));
    CHECK(!wait_in(instance(CollectiveOp::broadcast, {{0, 16}, {0, 10}})));
    CHECK(!wait_in(instance(CollectiveOp::send, {{0, 16}, {0, 10}})));
    CHECK(!wait_in(instance(kReduce, {{0, 16}, {10, 10}})));
    for (const CollectiveOp op : {CollectiveOp::all_gather, CollectiveOp::reduce_scatter,
                                  CollectiveOp::all_to_all, CollectiveOp::barrier})
        CHECK(wait_in(instance(op, {{0, 16}, {0, 10}})));
    CollectiveInstance one = instance(kReduce, {{0, 16}, {0, 10}});
    one.aborted = true;
    CHECK(!wait_in(one));
    one.aborted = false;
    one.shares_kernel = true;
    CHECK(!wait_in(one));
    one.shares_kernel = false;
    CHECK(wait_in(one));
    one.parts[1].device = {};
    CHECK(!wait_in(one));
    CHECK(!aligned_wait_in(one, std::vector<int64_t>{0, 0}));
}

TEST_CASE("the best decile", "[collective]") {
    std::vector<int64_t> own;
    for (int64_t i = 1; i <= 20; ++i) own.push_back(i * 10);
    CHECK(best_decile_ns(own) == 20);
    CHECK(best_decile_ns({30, 10, 20}) == 10);
    CHECK(!best_decile_ns({}));
}

//  time     0    5     12
//  rank 0   ──────████████        root, starts 5
//  rank 1   ██████████            runs 5 before it
//  rank 2   ────────████          comes after it: no wait
TEST_CASE("directed operations wait along edges", "[collective]") {
    const std::vector<int64_t> aligned = {0, 0, 0};
    const std::vector<Interval> spans = {{5, 12}, {0, 10}, {7, 11}};
    auto edges = wait_edges(instance(CollectiveOp::broadcast, spans, 3, 0), std::span(aligned));
    REQUIRE(edges.size() == 2);
    CHECK(edges[0].waits == 1);
    CHECK(edges[0].for_rank == 0);
    CHECK(edges[0].wait_ns == 5);
    CHECK(edges[1].wait_ns == 0);
    // The other way round the root waits.
    edges = wait_edges(instance(CollectiveOp::reduce, spans, 3, 0), std::span(aligned));
    CHECK(edges[1].waits == 0);
    CHECK(edges[1].for_rank == 2);
    CHECK(edges[1].wait_ns == 2);
    CHECK(!wait_edges(instance(CollectiveOp::broadcast, spans, 3, 0), {})[0].wait_ns);
    CollectiveInstance send = instance(CollectiveOp::send, {{5, 12}, {0, 12}}, 2, 0);
    send.destination = 1;
    edges = wait_edges(send, std::span(aligned));
    REQUIRE(edges.size() == 2);
    CHECK(edges[0].waits == 1);
    CHECK(edges[0].wait_ns == 5);
    CHECK(edges[1].wait_ns == 0);
    CHECK(wait_edges(instance(kReduce, spans), std::span(aligned)).empty());
}

//  time     0   4     10 12
//  send     ████████████          waits until the other end begins
//  recv         ────████          …
//  send     ████                  or was done by then: its bytes lay in a buffer
TEST_CASE("a sender waits for its receiver, too", "[collective]") {
    const std::vector<int64_t> aligned = {0, 0};
    CollectiveInstance send = instance(CollectiveOp::send, {{0, 12}, {10, 12}}, 2, 0);
    send.destination = 1;
    auto edges = wait_edges(send, std::span(aligned));
    CHECK(edges[0].wait_ns == 0);
    CHECK(edges[1].waits == 0);
    CHECK(edges[1].for_rank == 1);
    CHECK(edges[1].wait_ns == 10);
    CollectiveInstance left = instance(CollectiveOp::send, {{0, 4}, {10, 12}}, 2, 0);
    left.destination = 1;
    CHECK(wait_edges(left, std::span(aligned))[1].wait_ns == 0);
}

}  // namespace collective_wait_test
