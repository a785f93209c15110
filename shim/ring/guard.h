// Which of nested calls is recorded: only the outermost CUDA call and, apart from that, the outermost NCCL
// call. The guard is the frame address of that call, not a flag: a call that was left by an exception,
// longjmp or pthread_cancel never said goodbye, and the next call at an equal or higher stack address shows
// that it is over.
//
//   high  │ main
//         │ ncclAllReduce   <- nccl_frame
//         │   cuLaunchKernelEx   <- cuda_frame: recorded, inside the NCCL call
//   low   │     cuStreamIsCapturing      below cuda_frame: the driver calling itself, passes through
#pragma once

#include "process_state.h"

namespace gpushim::shim {

// Whether a call in `frame` is inside the one that `outer` belongs to. The stack grows down.
inline bool inside(const void* outer, const void* frame) { return outer != nullptr && frame < outer; }

// Whether the thread is in a signal handler that has a stack of its own: where that lies says nothing about
// what the handler has interrupted. A system call; asked only where a call seems to have been left
// (process_state.cpp).
bool on_signal_stack();

}  // namespace gpushim::shim
