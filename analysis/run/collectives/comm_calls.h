// What one trace says of its communicators: of each rank that it holds the calls of NCCL, in the order in
// which they were made, with the kernels that they launched and when those ran. One thread.
//
//   calls     ──[AllReduce group 7]──────[group 8: AllReduce, AllReduce]──
//   kernels        └─ group 7, timed           └─ group 8: of both
#pragma once

#include <string>
#include <vector>

#include "../../collective/match.h"
#include "../../process/aside.h"
#include "../pass/facts.h"

namespace gpushim::analysis {

struct CommLaunch {  // of a kernel
    int64_t enter_ns;
    Interval device;
};

struct CommCall {
    CollectiveCall call;  // replays 0: captured, and how often it ran is not known
    int64_t enter_ns;
    int64_t replays_in_steps;  // of call.replays, those in steps that count
    int32_t step, lane;        // kNoStep, kNoLane
    int32_t kernel = -1;       // index into facts.kernels; of the first
    uint32_t launch = 0;       // into CommSeat::launches: its kernels, which calls of a group share
    uint16_t launches = 0;
    int16_t dtype;  // ncclDataType_t
    bool captured;
    bool is_joined = false;  // another call of its group stands for it: exchanges.h
};

constexpr int64_t kUnknownBytes = -(int64_t{1} << 40);  // sums with it stay below 0

// A rank of a communicator. Where a trace does not say which rank it is, or of which communicator, it is
// alone: rank 0 of one of its own.
struct CommSeat {
    const TraceFacts* facts;
    std::string uid, parent;  // uid: '' not known; parent: '' none
    int rank, ranks;
    int64_t device_id;  // -1: not known
    bool has_place;     // its rank is known
    AsideArray<CommCall> calls;
    // By call, in the order in which they ran; until it is known how long each call waited.
    AsideArray<CommLaunch> launches;

    const Gpu* gpu() const;  // none: not known
};

// Calls that failed are not there. A rank that has several rows of one communicator in the trace is one seat.
std::vector<CommSeat> read_comm_seats(const TraceFacts& facts);

int32_t step_at(const TraceFacts& facts, int64_t enter_ns);
bool counts(const TraceFacts& facts, int32_t step);  // a step that is no warm-up and was not left out
// As reports name it; "type 12" of one that is newer than this.
std::string dtype_name(int dtype);
int64_t dtype_bytes(int dtype);  // 0: not known

}  // namespace gpushim::analysis
