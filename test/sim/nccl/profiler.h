// Profiler plug-ins, as NCCL's: found by NCCL_PROFILER_PLUGIN or by its file name, asked for the newest
// interface first, and called in the order in which NCCL does it. GPUSIM_NCCL_INTERFACE says which interface
// is the newest; with GPUSIM_NCCL_NETWORK every rank is a machine of its own.
//
//   the program's thread    group, then each operation: started, handed on, stopped
//   the service thread      each channel: its part of the kernel; what it sends and receives, in steps
#pragma once

#include <memory>
#include <vector>

#include "engine/clock.h"

struct ncclComm;

namespace gpusim::nccl {
struct Batch;

namespace profiler {

// When a communicator is ready, and before it goes.
void begin(ncclComm& comm, uint64_t hash);
void end(ncclComm& comm);

// Around the launch of a batch: `captured` ones are not told.
void launched(Batch& batch, bool captured);

// Of a batch that was told: when its kernel runs. The service thread tells the rest as time comes there.
void runs(const Batch& batch, Ns start_ns, Ns end_ns);

}  // namespace profiler
}  // namespace gpusim::nccl
