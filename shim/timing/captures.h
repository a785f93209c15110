// Captures under way, by the stream that each began in, so that one which never ends is known for what it is:
// its stream or context goes, something makes it invalid, or it just stays. `ProcessState::captures` counts
// those there are; more than there is room for are only counted. Begins, ends and destroys of streams and
// contexts come here, no other call. Lock-free; any thread, but visit_captures().
//
//   program    capture_is_beginning ── real call ── capture_has_begun
//                …… capture_is_ending ── real call ── capture_has_ended, capture_goes_on
//                …… capture_may_go ── real destroy ── capture_has_gone
//   driver's thread, between enter_context and leave_context               visit_captures
#pragma once

#include <cstdint>

#include "../ring/process_state.h"

namespace gpushim::shim {

// From before the call on, and no longer where it failed.
void capture_is_beginning();
void capture_has_begun(const ThreadState& thread, uint64_t stream, bool per_thread, bool succeeded);
void capture_is_ending(const ThreadState& thread, uint64_t stream, bool per_thread);
void capture_has_ended(const ThreadState& thread, uint64_t stream, bool per_thread);
void capture_goes_on(const ThreadState& thread, uint64_t stream, bool per_thread);

// A stream is being destroyed: nobody asks the driver for it meanwhile (the caller waits for 100 ms at most
// until it is so). Then whether it was.
void capture_may_go(uint64_t stream);
void capture_has_gone(uint64_t stream, bool gone);
void captures_of_context_have_gone(uint32_t context);

// `is_over` asks the driver, for streams of the context that have a handle. What is over is no capture under
// way any more. The driver's thread.
void visit_captures(uint32_t context, bool (*is_over)(uint64_t stream));

// When the oldest began, and in which context (kNoContext: not known). False: there is none.
bool oldest_capture(int64_t& began_ns, uint32_t& context);

// In a process that was forked.
void forget_captures();

}  // namespace gpushim::shim
