// Events of ours around an operation, on the program's thread. Promise: on exactly the stream that the
// program gave, never on one that is capturing, never where a capture forbids it; nothing is made, asked or
// waited for; an error of ours ends it for that context, says why once, and changes no answer that the
// program gets.
//
//   begin_timing   has_room(3)  take two events  [record start]
//   the call       open ── real ── complete
//   end_timing     [record end]  slot `timed`         a failed call: the events go back
#pragma once

#include "hooks/api.h"
#include "hooks/driver_api.h"
#include "recorder.h"

namespace gpushim::shim {

class EventPool;

struct Timing {
    EventPool* pool = nullptr;  // null: not timed
    CUstream stream = nullptr;
    uint32_t context = 0;  // whose pool
    uint32_t start = 0;
    uint32_t end = 0;
    bool per_thread = false;
};

// Whether a window may be open: the only thing that an untimed operation asks.
inline bool may_time() { return live->timing.load(std::memory_order_relaxed) != 0; }

// `stream` as the program gave it.
void begin_timing(ThreadState& thread, Timing& timing, EventKind kind, CUstream stream, bool per_thread);

// `slot`: the operation's, complete; null: it was dropped.
void end_timing(ThreadState& thread, const Timing& timing, const Slot* slot, bool succeeded);

// Hooks of objects whose end an event of ours must not outlive. Before the call: waits until the writer is
// not inside the driver on behalf of that context (at most 100 ms, counted), and nothing is timed there any
// more.
void context_is_ending(uint64_t context);         // 0: the current one
void primary_context_is_ending(CUdevice device);  // when nobody would retain it any more, or a reset
// After it: what was known of that stream's context.
void stream_is_gone(uint64_t stream);

// --- the writer's side of it (harvest.cpp): it asks before each visit to a context, and says when it is out
bool enter_context(uint32_t context);  // false: the context is ending
void leave_context();

}  // namespace gpushim::shim
