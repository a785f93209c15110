// Threads of the program that measure with events of their own: autotuners choose by what they see, so what
// such a thread launches gets no events of ours, nor what others launch into the stream that it measures: a
// backward pass has a thread of its own. A thread is taken to measure
//
//   from an event with timing that it records, for a second: at first, and for a while after a short answer
//   from a short answer (cuEventElapsedTime), for a second
//   not any more from a long answer on: it times its steps, and what we do is little of those
//
// An event that a stream waits for puts work in order: its record was no sign, and what it began is taken
// back. cuDNN makes such events with timing, and makes some of them each time.
//
// On the program's thread; no allocation, no lock.
#pragma once

#include "../ring/process_state.h"

namespace gpushim::shim {

// An event was made. What shares a place with another is forgotten: then only answers tell.
void note_event_made(uint64_t event, bool has_timing);
bool has_timing(uint64_t event);

// `stream`: StreamKey::number.
void note_timed_record(ThreadState& thread, uint64_t event, uint64_t stream, uint64_t now);
// By a stream, which this thread has told to.
void note_event_awaited(ThreadState& thread, uint64_t event);
void note_elapsed(ThreadState& thread, float ms, uint64_t now);

inline bool is_measuring(const ThreadState& thread, uint64_t now) { return now < thread.measures_until; }
// By any thread. Streams that share a place are forgotten, one for the other.
bool is_measured(uint64_t stream, uint64_t now);

// Operations without events for that reason, since the process began.
void count_measured();
uint64_t measured_operations();

void forget_measuring();  // in a process that was forked

}  // namespace gpushim::shim
