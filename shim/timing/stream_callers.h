// Which threads are in calls on which stream, while captures are under way: for a thread that wants to read
// what the driver keeps of a stream, and that the driver may free in the next call on it. Lock-free, in
// static memory; any thread.
//
//   enter_stream ── real call ──┬─ begin_look ── question ── may_read, read ── end_look ─┬─ leave_streams
//                               └─ or another thread has been in such a call meanwhile ──┘
//
// Promise: nobody who has entered that stream is in the driver while may_read() holds, unless it had to wait
// for 100 ms. Only who enters during somebody's look waits: for one question to the driver, as a rule.
#pragma once

#include <cstdint>

#include "../ring/process_state.h"

namespace gpushim::shim {

// Each call on a stream, before it; calls that may concern any stream, or end captures, enter all of them. A
// call that is left without a word (longjmp) stays in: nobody looks at that stream any more.
void enter_stream(ThreadState& thread, uint64_t stream);
void enter_streams(ThreadState& thread);
void leave_streams(ThreadState& thread);

// False: other threads were in calls on that stream since this thread has entered it.
bool begin_look(const ThreadState& thread, uint64_t stream);
// Not if another thread waits already.
bool may_read(const ThreadState& thread);
void end_look(const ThreadState& thread);

// In a process that was forked.
void forget_stream_callers();

}  // namespace gpushim::shim
