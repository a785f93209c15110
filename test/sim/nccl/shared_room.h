// What the ranks of a communicator write for each other, in memory that all their processes map. Its file has
// no name: it is a memfd of the process that made the unique id, and the id says where, so nothing is ever
// left behind. Plain fields are valid once the atomic next to them says so.
#pragma once

#include <nccl.h>

#include <atomic>
#include <cstdint>

#include "engine/clock.h"

namespace gpusim::nccl {

constexpr int kMaxRanks = 64;
// A rank publishes a kernel only when it knows its previous one, so at most two kernels of each rank are
// under way at a time: twice what one kernel may hold is enough, and more than that is kept.
constexpr uint64_t kRounds = 256;
constexpr uint64_t kMaxFusedRounds = 64;
constexpr uint64_t kMessages = 128;
constexpr uint64_t kMaxFusedMessages = 64;

// What an ncclUniqueId of the box holds.
struct RoomKey {
    char magic[16];
    int32_t pid;
    int32_t file;
    int64_t start_ticks;
    uint64_t cookie[2];
    char unused[128 - 48];
};
static_assert(sizeof(RoomKey) == sizeof(ncclUniqueId));

enum class Presence : uint32_t { absent, entering, joined, ready, left };

// What a rank brings to a split or shrink: which new communicator it wants to be in, and a room for it.
struct Offer {
    std::atomic<uint64_t> number;  // the rank's n-th, from 1
    int32_t color;
    int32_t key;
    RoomKey room;
};

struct Member {
    std::atomic<Presence> presence;
    int32_t pid;
    int64_t start_ticks;
    int32_t stage_file;
    unsigned char device[16];
    Ns joined_ns;
    std::atomic<uint64_t> rounds_moved;  // this rank has its bytes of all rounds up to this number
    Offer offers[2];  // the n-th is only made when all ranks have read the one before the last
};

// One rank's part in one operation.
struct Part {
    std::atomic<uint64_t> number;  // which operation it is, from 1
    Ns ready_ns;
    Ns duration_ns;
    Ns latency_ns;
    uint64_t meaning;  // must be equal for all ranks: kind, size, type, root
    uint64_t offset;   // of the contribution in the rank's stage
};

// A collective. `came` counts on over all uses of the place: n ranks more each time.
struct Round {
    std::atomic<uint64_t> came;
    std::atomic<uint64_t> complete;  // the number whose parts are all there and combined
    int32_t result_rank;             // whose contribution holds what all were combined to
    Part parts[kMaxRanks];
};

// Messages from one rank to another.
struct Channel {
    std::atomic<uint64_t> moved;  // the receiver has its bytes of all messages up to this number
    Part sent[kMessages];
    Part received[kMessages];
};

struct SharedRoom {
    uint64_t cookie[2];
    std::atomic<int32_t> nranks;
    std::atomic<int32_t> failed;  // an ncclResult_t: nobody may count on the others any more
    Member members[kMaxRanks];
    Offer growths[2];  // of the rank that made a unique id for new ranks; color and key mean nothing
    Round rounds[kRounds];
    Channel channels[kMaxRanks][kMaxRanks];  // [from][to]

    Round& round(uint64_t number) { return rounds[(number - 1) % kRounds]; }
};

}  // namespace gpusim::nccl
