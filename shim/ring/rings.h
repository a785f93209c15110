// All rings of this process: made, lent to threads, taken over from threads that have ended, drained by the
// writer. A ring's life:
//
//   absent ─ make ─> spare ─ take_ring ─> taken ─ chain_ring ─> left ─ drained ─> spare
//                                          └─ its thread has ended ─> taken by the next thread, or spare
//                                          again
//
// Changes of state are compare-and-swap; nothing here allocates from the heap or takes a lock. take_ring and
// chain_ring are in recorder.h; the rest is for the starting thread (open_rings) and the writer.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "process_state.h"
#include "ring_format.h"

namespace gpushim::shim {

constexpr uint32_t kSmallSlots = 4096;  // 256 KiB: the first ring of a thread
constexpr uint32_t kLargeSlots = 16384;
constexpr size_t kMaxRings = 1024;

enum class RingState : uint32_t { absent, making, spare, taken, left, adopting };

struct Ring {
    std::atomic<RingState> state;
    std::atomic<int32_t> tid;      // of its thread, while taken
    std::atomic<uint32_t> number;  // of its thread (RingOwner)
    std::atomic<uint64_t> turn;  // order in which rings were taken: of two rings of a thread the older first
    RingHeader* header;
    Slot* slots;
    size_t bytes;
};

struct RingSettings {
    const char* folder;  // path of the trace's folder in tmpfs; null: private memory
    size_t max_bytes;
    uint8_t trace_uuid[16];
    uint8_t boot_id[16];
    int32_t pid;
    uint32_t clock_kind;
    int64_t process_start_ticks;
    const char* trace_path;
};

// Forgets all rings (those of a process that this one was forked from), then makes them as the settings say.
void open_rings(const RingSettings& settings);

// How much rings may take in a tmpfs of that size; 0: too small, private memory is better.
size_t ring_budget(uint64_t tmpfs_bytes);
constexpr size_t kPrivateBudget = 16u << 20;

std::span<Ring> all_rings();

// Ring 0, which only counts what threads without a ring have lost; null: private memory was not to be had.
RingHeader* process_ring();

// What a process begins with: one spare ring, a small one.
void make_first_ring();

// Whether threads are to find spare rings: none while the one that the process began with does.
enum class Spares { none, some, large };  // two; and a large one, where a thread was seen to be busy

// The writer, in every pass: rings that nobody uses any more become spare, and as many spares as wanted are
// made. `may_shrink`: all that was in rings or counted there is in the database, so that surplus ones may go.
void care_for_rings(Spares wanted, bool may_shrink);

// The writer: whether the thread that has it, or had it last, is gone.
bool is_orphan(const Ring& ring);

// The thread whose slot is at `position`; number 0: nobody knows.
RingOwner owner_of(const RingHeader& header, uint64_t position);

}  // namespace gpushim::shim
