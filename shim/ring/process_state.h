// The one word that every hook looks at first, and what a thread carries from call to call. All of it is
// plain data that exists before any constructor runs and is never destroyed; after a fork of any kind the
// word reads zero, because it lies on a page that forks wipe: a child is dark until its own first CUDA
// context.
#pragma once

#include <atomic>
#include <cstdint>

#include "ring_format.h"

namespace gpushim::shim {

enum Doing : uint32_t {
    kDark = 0,  // nothing is recorded: calls pass through
    kRecording = 1,
    kStarting = 2,  // a thread is making files and the writer
    kEnding = 3,    // the process is exiting: what is in the rings is being written
    kOff = 4,       // for good, in this process
    kResting = 5,   // outside of what was asked for: only the lives of objects are recorded (capture_range.h)
};

// What every hook reads lies in the first cache line.
struct alignas(64) ProcessState {
    std::atomic<uint32_t> doing;
    // The writer would like to know a name: the next slow moment asks (function_names.h).
    std::atomic<uint32_t> wanted;
    uint32_t clock_kind;  // how ticks are read
    uint32_t generation;  // raised by every start: rings of an earlier one are not used
    // When operations get events of ours (windows.h): it is worth looking at the ticks.
    std::atomic<uint32_t> timing;
    // How many captures are under way: while none is, nobody needs to ask whether a stream is capturing (one
    // joins a capture by waiting for an event, so a mark on the stream would not do). captures.h counts.
    std::atomic<int32_t> captures;
    uint64_t gap_ticks;                  // from so long on, what a thread did between two calls is recorded
    std::atomic<uint64_t> window_from;   // ticks
    std::atomic<uint64_t> window_until;  // ticks; below `from`: no window
    int32_t pid;                         // whose page it is: a vfork child sees its parent's

    std::atomic<uint32_t> progress;     // raised by the writer: futex of those who wait for it
    std::atomic<uint32_t> awake;        // raised to wake the writer: its futex
    std::atomic<uint32_t> forks;        // forks under way: the writer begins no transaction
    std::atomic<uint32_t> writing;      // the writer is in a transaction
    std::atomic<uint32_t> not_emptied;  // Drop: why the rings are full, if they are
    std::atomic<uint32_t> last_look;    // LastLook: before the driver goes away
    // Ticks when the process last ceased to rest; no gap reaches back beyond it.
    std::atomic<uint64_t> resumed;
    // The test clock only (test_clock.h): when the writer is to be let through next, and how often it has
    // been.
    std::atomic<uint64_t> next_pass;  // ticks
    std::atomic<uint32_t> passes;
};

// Points to a zero page until lifecycle starts recording.
extern constinit ProcessState* process_state;

// What the thread that ends the process or a context (kReadWanted, as often as it happens) and the writer
// tell each other: device times can be read now, or never.
enum LastLook : uint32_t { kLookNotYet = 0, kLookWanted = 1, kLooked = 2, kReadWanted = 3 };

inline bool resting() { return process_state->doing.load(std::memory_order_relaxed) == kResting; }
inline bool recording() { return process_state->doing.load(std::memory_order_relaxed) == kRecording; }

// Relaxed: a launch into a capture comes after its beginning on the same thread, or in an order that the
// program itself made.
inline bool captures_active() { return process_state->captures.load(std::memory_order_relaxed) > 0; }

// Recording or resting: there is a writer that reads the rings.
inline bool is_written() { return recording() || resting(); }

// One step from one state to another; false: it was in another one.
inline bool become(Doing from, Doing to) {
    uint32_t expected = from;
    return process_state->doing.compare_exchange_strong(expected, to);
}

// What a thread did before the call that it is in (host_gap.h).
struct PendingGap {
    uint64_t from;        // ticks
    uint64_t until;       // ticks; 0: nothing of note
    int64_t cpu_ns;       // that the thread ran between two readings of its clock around it …
    uint64_t ran_beside;  // … and for how many ticks of that it was not in the gap
    uint32_t last_call;
    uint16_t next_api;
};

// More than this no library may ask for that is loaded late (dlopen): a thread's block is no better aligned.
#if defined(__x86_64__)
constexpr size_t kThreadAlignment = 64;
#else
constexpr size_t kThreadAlignment = 16;
#endif

// What every call reads and writes lies in the first two cache lines.
struct alignas(kThreadAlignment) ThreadState {
    RingHeader* ring;        // null: none yet
    Slot* slots;             // of that ring
    uint64_t mask;           // slot_count - 1
    const void* cuda_frame;  // frame of the outermost CUDA call in progress (guard.h)
    uint64_t poll_position;  // 1 + position of an open query slot that may still grow; 0: none
    uint32_t context;
    uint32_t group;
    uint32_t generation;
    uint32_t last_call;  // EventKind of the last recorded call << 16 | its api
    uint64_t last_exit;  // ticks when it returned; 0: none yet
    uint64_t cpu_ticks;  // when the thread's CPU clock was last read …
    int64_t cpu_ns;      // … and what it said (host_gap.h)
    PendingGap gap;
    const void* nccl_frame;    // as cuda_frame, of the outermost NCCL call
    const void* cublas_frame;  // … and of the outermost call of cuBLAS or cuBLASLt
    // Ticks (measuring.h): the program measures; events with timing that it records are a sign of that.
    uint64_t measures_until;
    uint64_t answered_until;   // … by answers alone
    uint64_t suspected_until;  // 0: it has recorded none
    uint64_t measured_stream;  // of the last such record (StreamKey::number); 0: none
    uint32_t signs;            // such records; 0: it measures by an answer, if it does
    bool suspected_by_signs;   // … by those alone: with them suspicion goes
    // The streams that a call has entered (stream_callers.h), in which start of recording; `entered` 0: it is
    // not alone there.
    uint64_t entered;
    uint32_t entered_place;
    uint32_t entered_in;
};

// Initial-exec: the default model may call malloc at a thread's first use.
extern thread_local constinit ThreadState thread_state __attribute__((tls_model("initial-exec")));

}  // namespace gpushim::shim
