// What NCCL told, as rows; and which operation of the program it is.
#include "shim/ring/nccl_view.h"
#include "shim/rows/asked_of_nccl.h"
#include "trace.h"

namespace nccl_rows_test {

using namespace trace;

TEST_CASE("an operation is the program's of the same call, and never another's", "[nccl_rows]") {
    constexpr uint64_t kAllReduce = 5, kAllGather = 3;
    AskedOfNccl asked;
    const auto found = [&](int64_t context, int64_t rank, uint64_t function, int64_t count,
                           int64_t group = 7) {
        const AskedOfNccl::Found one = asked.take({1, group, function, context, rank, count, kNull});
        return std::pair(one.communicator_id, one.seq);
    };
    const auto nothing = std::pair(kNull, kNull);
    asked.add(1, 7, {kAllReduce, 100, 0, 1, 10, 40, kNull});
    asked.add(1, 7, {kAllReduce, 101, 0, 1, 10, 40, kNull});
    asked.add(1, 7, {kAllReduce, 100, 0, 2, 10, 40, kNull});
    // Either of two communicators, by all that is known.
    CHECK(found(1, 0, kAllReduce, 10) == nothing);
    CHECK(found(1, 0, kAllReduce, 10, 6) == nothing);
    // A call of its own says whose it is, from then on in groups, too; in bytes as well.
    asked.add(1, 8, {kAllGather, 100, 0, 3, 10, 40, kNull});
    CHECK(found(1, 0, kAllGather, 40, 8) == std::pair<int64_t, int64_t>(100, 3));
    CHECK(found(1, 0, kAllGather, 40, 8) == std::pair<int64_t, int64_t>(100, kNull));
    asked.add(1, 9, {kAllReduce, 100, 0, 4, 10, 40, kNull});
    asked.add(1, 9, {kAllReduce, 101, 0, 2, 10, 40, kNull});
    CHECK(found(2, 0, kAllReduce, 10, 9) == std::pair<int64_t, int64_t>(101, 2));
    CHECK(found(1, 0, kAllReduce, 11, 9) == std::pair<int64_t, int64_t>(100, kNull));
    CHECK(found(1, 0, kAllReduce, 10, 9) == std::pair<int64_t, int64_t>(100, 4));
}

TEST_CASE("NCCL's ranks tell communicators of one process apart", "[nccl_rows]") {
    AskedOfNccl asked;
    asked.add(1, 7, {5, 100, 0, 1, 10, 40, kNull});
    asked.add(1, 7, {5, 101, 1, 1, 10, 40, kNull});
    CHECK(asked.take({1, 7, 5, 21, 1, 10, kNull}).communicator_id == 101);
    CHECK(asked.take({1, 7, 5, 20, 0, 10, kNull}).communicator_id == 100);
}

TEST_CASE("rows of what NCCL told, and none of the program's events", "[nccl_rows]") {
    Trace trace;
    Events events;
    const uint64_t context = 3ull << kNcclContextShift;
    events.event(kNoApi, EventKind::nccl_joined, 10, 10, {3 | 4ull << 32, 77, 2 | 8ull << 32, 4});
    events.event(kNoApi, EventKind::nccl_operation, 20, 30,
                 {500, context | nccl_word(NcclOperationWord{5, 2, 3, 12, false}), 1000, 9});
    const uint64_t waits[] = {100, 200, 300};
    events.event(kNoApi, EventKind::nccl_network, 40, 1040,
                 {500, context | nccl_word(NcclNetworkWord{6, 1, true, false}), nccl_sizes(4096, 2),
                  nccl_waits(waits)});
    events.event(kNoApi, EventKind::nccl_network, 40, 1040,
                 {0, context | nccl_word(NcclNetworkWord{6, 1, false, true}), nccl_sizes(~0ull, ~0ull),
                  nccl_waits(waits)});
    events.event(kNoApi, EventKind::nccl_channel, 50, 150, {500, context | 7, 1000, 1600});
    events.event(kNoApi, EventKind::nccl_channel, 60, 160, {500, context | 8, 0, 0});
    trace.write(events);
    CHECK(trace.ask("SELECT id, interface, hash, rank, ranks, nodes FROM nccl_communicator") ==
          "3|4|77|2|8|4");
    CHECK(trace.ask("SELECT operation, function, algorithm, protocol, channels, count, peer, communicator, "
                    "nccl_communicator_id FROM v_nccl_operation") ==
          "500|AllReduce|RING|SIMPLE|12|1000|-|-|3");
    CHECK(trace.ask("SELECT direction, channel, peer, is_foreign, steps, bytes, gpu_wait_ns, peer_wait_ns, "
                    "network_wait_ns, function FROM v_nccl_network") ==
          "send|1|6|0|2|4096|100|200|300|AllReduce ; receive|1|6|1|-|-|100|-|300|-");
    CHECK(trace.ask("SELECT channel, dur_ns, gpu_ns FROM v_nccl_channel") == "7|100|600 ; 8|100|-");
    CHECK(trace.ledger() == "0|0|0|0|0|0");
}

}  // namespace nccl_rows_test
