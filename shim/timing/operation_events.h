// Events of ours around an operation, on the program's thread. Promise: on exactly the stream that the
// program gave, never on one that is capturing, never where a capture forbids it; nothing is made or waited
// for; an error of ours ends it for that context and changes no answer that the program gets.
//
//   begin_timing   room for the slots  take events  [record start]
//   the call       open ── real ── complete
//   end_timing     record end  slot `timed`         a failed call: the events go back
//
// A start event is recorded unless the last one in that stream is right before the operation and not done.
#pragma once

#include "../calls/driver_api.h"
#include "../ring/recorder.h"
#include "context_visits.h"
#include "stream_uses.h"

namespace gpushim::shim {

class EventPool;

// Where CUPTI tells device times (cupti_harvest.h), no events are recorded: the operation's slot is followed
// by the number that its records will carry, and the program's thread does nothing else.
struct Timing {
    enum class By : uint8_t { nothing, events, records } by = By::nothing;  // only of `events` is there more
    StreamUse* use;
    EventPool* pool;  // null: the operation is not timed
    CUstream stream;
    uint32_t context;  // whose pool
    uint32_t start;
    uint32_t end;
    uint32_t number;  // of this use of the stream
    bool per_thread;
    bool is_legacy;
    bool is_apart;
    bool fenced;
    bool is_new;      // the stream's first in this window
    uint32_t others;  // what else the stream may wait for: how often there was something before it
};

// Whether a window may be open: the only thing that an untimed operation asks.
inline bool may_time() { return process_state->timing.load(std::memory_order_relaxed) != 0; }

struct Asked {
    uint64_t what;         // the function or executable graph that is launched, else 0
    bool is_programmatic;  // programmatic.h
};

// `stream` as the program gave it.
void begin_timing(ThreadState& thread, Timing& timing, const Asked& asked, CUstream stream, bool per_thread);

// `slot`: the operation's, complete; null: it was dropped.
void end_timing(ThreadState& thread, const Timing& timing, const Slot* slot, bool succeeded);

// Inside a window, for what a stream is given that gets no events: an operation, and anything else.
void skip_timing(ThreadState& thread, CUstream stream, bool per_thread);
void fence_timing(const ThreadState& thread, CUstream stream, bool per_thread);

// Events of ours on a legacy stream, where each is a barrier for all blocking streams of its context.
uint64_t legacy_events();

// The next launch of that function or graph finds so many events before it, so that it has to wait for them:
// then its stamps are its times. One wish at a time; the writer's thread.
constexpr uint64_t kAnyOperation = ~uint64_t{0};
void wish_for_queue(uint64_t what, uint32_t events);

// From now on CUPTI's records tell, in this process. The writer's thread.
void time_by_records();
bool is_timed_by_records();

// From now on no stream gets an event of ours without being asked whether it captures. The writer's thread.
void ask_before_records();

// In a process that was forked, before it has any pools of its own.
void forget_device_times();

}  // namespace gpushim::shim
