// The one thread of the shim: empties the rings into the trace. All signals blocked, detached, with a table
// of descriptors of its own where that can be had (descriptors.h). It never makes the program wait.
#pragma once

#include <span>

#include "../machine/device.h"
#include "../machine/identity.h"

namespace gpushim::shim {

// Starts the thread and waits until the trace file has its tables and the rings are there. False: no tracing;
// what went wrong is in the log. The starting thread.
bool start_writer(const char* trace_path, TraceIdentity& identity, std::span<const Device> devices);

// At the exit of the process: waits until everything is in the trace; at most 2 s, and at most 250 ms while
// nothing moves and no thread of ours is merely short of a processor.
void finish_writer();

// Before the driver goes away: waits as long until what can be known of device times is known. None is read
// afterwards.
void look_once_more();

// Any thread, before a call that may end a context: waits at most 100 ms until what is done in it is read (on
// the test clock, 2 s).
void read_before_context_ends();

}  // namespace gpushim::shim
