// The words of events that NCCL told us of (events.def, nccl_…): how several figures share one, both ways.
// Constants and plain functions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace gpushim {

// The top of each second word: the number of the communicator, as nccl_joined has it; 0: not known.
constexpr int kNcclContextShift = 48;
constexpr uint64_t kMostNcclContexts = (1 << 16) - 1;

// NCCL's names. Interface 1 has numbers, which are their places here. In a word they are 1 + the place; 0:
// not told, or another.
constexpr std::string_view kNcclFunctions[] = {"Broadcast", "Reduce",   "AllGather", "ReduceScatter",
                                               "AllReduce", "SendRecv", "Send",      "Recv",
                                               "AlltoAll",  "Scatter",  "Gather"};
constexpr std::string_view kNcclAlgorithms[] = {
    "TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"};
constexpr std::string_view kNcclProtocols[] = {"LL", "LL128", "SIMPLE"};

template <size_t N>
constexpr uint64_t nccl_code(const std::string_view (&names)[N], const char* name) {
    if (name == nullptr) return 0;
    for (size_t i = 0; i < N; ++i)
        if (names[i] == name) return i + 1;
    return 0;
}
template <size_t N>
constexpr uint64_t nccl_code(const std::string_view (&)[N], uint8_t number) {
    return number < N ? number + 1u : 0;
}

// nccl_operation.what: function | algorithm << 8 | protocol << 16 | channels << 24 | message << 32.
constexpr uint64_t kNcclIsMessage = 1ull << 32;
struct NcclOperationWord {
    uint64_t function, algorithm, protocol, channels;  // 0: not told
    bool is_message;
};
constexpr uint64_t nccl_word(const NcclOperationWord& of) {
    return of.function | of.algorithm << 8 | of.protocol << 16 | of.channels << 24 |
           (of.is_message ? kNcclIsMessage : 0);
}
constexpr NcclOperationWord nccl_operation_of(uint64_t word) {
    return {word & 0xff, word >> 8 & 0xff, word >> 16 & 0xff, word >> 24 & 0xff,
            (word & kNcclIsMessage) != 0};
}

// nccl_network.what: peer | channel << 24 | sends << 32 | whether it is another process's << 33.
struct NcclNetworkWord {
    uint64_t peer, channel;
    bool sends, is_foreign;
};
constexpr uint64_t nccl_word(const NcclNetworkWord& of) {
    return (of.peer & 0xffffff) | of.channel << 24 | uint64_t{of.sends} << 32 | uint64_t{of.is_foreign} << 33;
}
constexpr NcclNetworkWord nccl_network_of(uint64_t word) {
    return {word & 0xffffff, word >> 24 & 0xff, (word >> 32 & 1) != 0, (word >> 33 & 1) != 0};
}

// nccl_network.sizes: bytes | steps << 44, each at most all ones.
constexpr int kNcclStepsShift = 44;
constexpr uint64_t kNcclMostBytes = (1ull << kNcclStepsShift) - 1, kNcclMostSteps = (1 << 20) - 1;
constexpr uint64_t nccl_sizes(uint64_t bytes, uint64_t steps) {
    return std::min(bytes, kNcclMostBytes) | std::min(steps, kNcclMostSteps) << kNcclStepsShift;
}

// nccl_network.waits: three numbers of ticks, each 16 bits of value and 5 of how far they are shifted, so
// within 1 in 65,536.
enum NcclWait { kNcclWaitsForGpu, kNcclWaitsForPeer, kNcclWaitsForNetwork, kNcclWaits };
constexpr uint64_t short_ticks(uint64_t ticks) {
    uint64_t shift = 0;
    ticks = std::min<uint64_t>(ticks, 0xffffull << 31);
    for (; ticks > 0xffff && shift < 31; ++shift) ticks = (ticks + 1) >> 1;
    return std::min<uint64_t>(ticks, 0xffff) | shift << 16;
}
constexpr uint64_t long_ticks(uint64_t word) { return (word & 0xffff) << (word >> 16 & 31); }
constexpr uint64_t nccl_waits(const uint64_t (&ticks)[kNcclWaits]) {
    return short_ticks(ticks[0]) | short_ticks(ticks[1]) << 21 | short_ticks(ticks[2]) << 42;
}
constexpr uint64_t nccl_wait_of(uint64_t word, NcclWait wait) {
    return long_ticks(word >> (21 * wait) & 0x1fffff);
}

}  // namespace gpushim
