// When recording begins and ends, and all that the program's side asks of the writer's: the one header that
// every room may include, because nothing else leads from below to above. Nothing happens in a process until
// its first CUDA context or NCCL communicator; then the trace file, the rings and the writer come into being
// on the calling thread, and process_state->doing says so. Any thread of the program.
#pragma once

#include <cstdint>

#include "ring/process_state.h"

namespace gpushim::shim {

// Whether the environment (GPUSHIM_DISABLE) or the kernel (AT_SECURE) says that the shim is not there.
bool disabled();

// Called by thunks of rows with the trait `starts`, after the call has succeeded while nothing was recorded.
// Cheap once it is decided that this process is not traced. Returns is_written(): the caller may record its
// call then.
bool start_after_success();

// Called after the first successful cuInit: registers the exit handler that runs before the driver's own
// teardown.
void driver_initialized();

// After a library that we call has been loaded or has begun its work: the exit handler runs before those that
// this library registered, too.
void watch_exit_again();

// Before a call that may end a context, where operations may be timed.
void context_may_end();

// False once the process has begun to exit: the driver may be gone, and no call of ours may reach it.
bool driver_usable();

}  // namespace gpushim::shim
