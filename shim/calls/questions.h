// What we ask the driver and NCCL ourselves, on the program's thread and past every hook: questions that
// change nothing, not even the library's own idea of the last error.
#pragma once

#include <cstdint>

#include "driver_api.h"

struct ncclComm;

namespace gpushim::shim {

int driver_version();             // the newest CUDA that the driver knows; 0: not to be had
CUcontext current_context();      // null: none, or not to be had
int device_of_current_context();  // its ordinal; -1: none, or not to be had
bool primary_context_is_active(CUdevice device);
bool is_capturing(CUstream stream, bool per_thread);  // an error means no

// Where a stream's capture stands. Asks for no more than that, where it cannot.
struct CaptureFront {
    bool is_active;
    CUgraph graph;  // null: not to be had
    // What the stream is given next depends on this one; null: not on just one. It stands in the driver's own
    // memory, until the next call on the stream or the capture's end.
    const CUgraphNode* node;
};
CaptureFront capture_front(CUstream stream, bool per_thread);

uint64_t rank_and_ranks(ncclComm* communicator);  // rank | ranks << 32; 0: not known yet

}  // namespace gpushim::shim
