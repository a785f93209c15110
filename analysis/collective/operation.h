// What is known of each operation of NCCL, as data: how nccl-tests counts its bytes and its bus bandwidth,
// and who has to wait for whom. Nothing here is code for one operation: a new one is a row. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

namespace gpushim::analysis {

// In the order of kOperations.
enum class CollectiveOp : uint8_t {
    all_reduce,
    all_gather,
    reduce_scatter,
    all_to_all,
    barrier,
    broadcast,
    reduce,
    gather,
    scatter,
    send,
    recv,
    send_recv,  // by its kernel's name: who sends what to whom is not told
    unnamed,    // … which does not say what it does, either
    mixed       // several operations in one kernel
};

// Who cannot end before who has begun: everybody before everybody, or along edges only.
enum class WaitDirection : uint8_t { all, from_root, to_root, pair, unknown };

struct CollectiveFacts {
    std::string_view api, word;
    int64_t factor_shares;   // bus bandwidth: so many times (n - 1) / n; 0: as it is
    int64_t ring_rounds;     // so many times n - 1 steps, each of which costs a latency
    bool bytes_times_ranks;  // what is passed is one rank's part of S
    WaitDirection direction;
};

inline constexpr CollectiveFacts kOperations[] = {
    {"ncclAllReduce", "allreduce", 2, 2, false, WaitDirection::all},
    {"ncclAllGather", "allgather", 1, 1, true, WaitDirection::all},
    {"ncclReduceScatter", "reducescatter", 1, 1, true, WaitDirection::all},
    {"ncclAlltoAll", "alltoall", 1, 1, true, WaitDirection::all},
    {"", "barrier", 0, 2, false, WaitDirection::all},
    {"ncclBroadcast", "broadcast", 0, 1, false, WaitDirection::from_root},
    {"ncclReduce", "reduce", 0, 1, false, WaitDirection::to_root},
    {"ncclGather", "gather", 1, 1, true, WaitDirection::to_root},
    {"ncclScatter", "scatter", 1, 1, true, WaitDirection::from_root},
    {"ncclSend", "send", 0, 1, false, WaitDirection::pair},
    {"ncclRecv", "recv", 0, 1, false, WaitDirection::pair},
    {"SendRecv", "sendrecv", 0, 0, false, WaitDirection::unknown},
    {"nccl", "unnamed", 0, 0, false, WaitDirection::unknown},
    {"", "mixed", 0, 0, false, WaitDirection::unknown},
};
static_assert(std::size(kOperations) == static_cast<size_t>(CollectiveOp::mixed) + 1);

constexpr const CollectiveFacts& facts_of(CollectiveOp op) { return kOperations[static_cast<size_t>(op)]; }

constexpr std::optional<CollectiveOp> operation_of(std::string_view api) {
    if (api == "ncclBcast") return CollectiveOp::broadcast;  // the older form, in place
    // With settings for this one call, since 2.31.
    constexpr std::string_view kConfig = "Config";
    if (api.ends_with(kConfig)) api.remove_suffix(kConfig.size());
    for (size_t i = 0; i < std::size(kOperations); ++i)
        if (!api.empty() && kOperations[i].api == api) return static_cast<CollectiveOp>(i);
    return {};
}

// By its word in tables, or its API.
constexpr std::optional<CollectiveOp> operation_named(std::string_view name) {
    for (size_t i = 0; i < std::size(kOperations); ++i)
        if (kOperations[i].word == name) return static_cast<CollectiveOp>(i);
    return operation_of(name);
}

// All ranks meet in it: only then does a rank's own duration hold its wait for the last one.
constexpr bool is_barrier_like(CollectiveOp op) { return facts_of(op).direction == WaitDirection::all; }

constexpr bool is_point_to_point(CollectiveOp op) { return facts_of(op).direction == WaitDirection::pair; }

// S of the formulas: the whole array, from what a rank passed (count * size of the type).
constexpr int64_t whole_bytes(CollectiveOp op, int64_t passed_bytes, int64_t ranks) {
    return facts_of(op).bytes_times_ranks ? passed_bytes * ranks : passed_bytes;
}

// What nccl-tests multiplies the algorithm's bandwidth by. Of one rank: nothing moves.
constexpr double bus_factor(CollectiveOp op, int64_t ranks) {
    if (ranks <= 1) return 0;
    const int64_t shares = facts_of(op).factor_shares;
    return shares == 0 ? 1 : static_cast<double>(shares * (ranks - 1)) / static_cast<double>(ranks);
}

}  // namespace gpushim::analysis
