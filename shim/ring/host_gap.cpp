#include "host_gap.h"

#include <algorithm>

#include "../base/system.h"

namespace gpushim::shim {
namespace {

constexpr int64_t kGapNs = 50'000;
constexpr uint64_t kLongReading = 16;  // what took longer than that part of a gap was interrupted
// Slots that the call may still need after its first: what it launched with, when it ran.
constexpr uint64_t kLeftForTheCall = 2;

using TestCpuClock = void (*)(uint64_t* ns);
constinit TestCpuClock test_cpu_clock = nullptr;

int64_t cpu_now_ns() {
    if (process_state->clock_kind != kTestClock) return clock_ns(CLOCK_THREAD_CPUTIME_ID);
    if (test_cpu_clock == nullptr) return read_pair(kTestClock).mono_ns;
    uint64_t ns = 0;
    test_cpu_clock(&ns);
    return static_cast<int64_t>(ns);
}

// Nothing to measure by, or no ring of this process's.
bool is_off(const ThreadState& thread) {
    return process_state->gap_ticks == 0 || thread.ring == nullptr ||
           thread.generation != process_state->generation;
}

void read_cpu_clock(ThreadState& thread) {
    const uint64_t before = ticks();
    thread.cpu_ns = cpu_now_ns();
    const uint64_t took = std::min(ticks() - before, process_state->gap_ticks / kLongReading);
    thread.cpu_ticks = before + took / 2;
    add(thread.ring->host_ticks, took);
}

void put_gap(ThreadState& thread) {
    const PendingGap gap = thread.gap;
    thread.gap = {};
    // Not has_room: what is missing then is no event of the program's, and none is to be missing because of
    // it.
    if (is_full(thread, 1 + kLeftForTheCall)) return;
    const uint64_t position = thread.ring->head.load(std::memory_order_relaxed);
    Slot& slot = thread.slots[position & thread.mask];
    slot.api = kNoApi;
    slot.kind = static_cast<uint8_t>(EventKind::gap);
    slot.flags = 0;
    slot.context = thread.context;
    slot.group = 0;
    slot.enter = gap.from;
    slot.exit = gap.until;
    put_words(slot,
              event::gap{static_cast<uint64_t>(gap.cpu_ns), gap.last_call, gap.next_api, gap.ran_beside});
    thread.ring->head.store(position + 1, std::memory_order_relaxed);
    // Release: who reads "complete" reads all that was stored before.
    slot.mark.store(complete_mark(position), std::memory_order_release);
}

}  // namespace

void begin_host_gaps(const ClockPair& first) {
    const auto kind = static_cast<ClockKind>(process_state->clock_kind);
    if (kind == kTestClock)
        test_cpu_clock = reinterpret_cast<TestCpuClock>(optional_function("gpushim_test_cpu_clock"));
    const ClockPair now = read_pair(kind);
    const auto passed_ns = static_cast<uint64_t>(now.mono_ns - first.mono_ns);
    const bool counts_ns = kind != kCounter || passed_ns == 0;
    process_state->gap_ticks = counts_ns ? kGapNs : kGapNs * (now.ticks - first.ticks) / passed_ns;
}

void note_gap(ThreadState& thread, uint64_t entered, uint16_t api, uint8_t flags) {
    if (is_off(thread) || !recording()) return;
    // Inside an NCCL call, or partly in a time in which the process rested.
    if ((flags & kInsideNccl) != 0 ||
        thread.last_exit < process_state->resumed.load(std::memory_order_relaxed))
        return;
    const uint64_t cpu_ticks = thread.cpu_ticks;
    const int64_t cpu_ns = thread.cpu_ns;
    read_cpu_clock(thread);
    const uint64_t beside = thread.cpu_ticks - cpu_ticks - (entered - thread.last_exit);
    thread.gap = {thread.last_exit, entered, thread.cpu_ns - cpu_ns, beside, thread.last_call, api};
}

void end_gap(ThreadState& thread, bool reading_is_due) {
    if (is_off(thread)) return;
    if (thread.gap.until != 0) put_gap(thread);
    if (reading_is_due) read_cpu_clock(thread);
}

}  // namespace gpushim::shim
