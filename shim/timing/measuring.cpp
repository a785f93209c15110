#include "measuring.h"

#include <atomic>
#include <cstddef>

namespace gpushim::shim {
namespace {

constexpr size_t kPlaces = 4096;  // a power of two
constexpr float kShortMs = 10;
constexpr uint64_t kSecond = 20'000;  // in gaps (ProcessState::gap_ticks)
constexpr uint64_t kSuspect = 5 * kSecond;

constinit std::atomic<uint64_t> with_timing[kPlaces] = {};  // events; 0: none

struct MeasuredStream {
    std::atomic<uint64_t> number, until;
};
constexpr size_t kStreams = 64;  // a power of two
// Relaxed, all of it: who reads one of a stream and the other of the next is wrong for a second.
constinit MeasuredStream measured[kStreams] = {};
constinit std::atomic<bool> are_any_measured = false;
constinit std::atomic<uint64_t> operations = 0;

std::atomic<uint64_t>& place_of(uint64_t event) { return with_timing[event * 0x9e3779b97f4a7c15 >> 52]; }
static_assert(kPlaces == size_t{1} << (64 - 52));

MeasuredStream& place_of_stream(uint64_t number) { return measured[number * 0x9e3779b97f4a7c15 >> 58]; }
static_assert(kStreams == size_t{1} << (64 - 58));

void measure_until(ThreadState& thread, uint64_t until) {
    thread.measures_until = until;
    const uint64_t stream = thread.measured_stream;
    if (stream == 0) return;
    MeasuredStream& place = place_of_stream(stream);
    if (until == 0 && place.number.load(std::memory_order_relaxed) != stream) return;
    place.number.store(stream, std::memory_order_relaxed);
    place.until.store(until, std::memory_order_relaxed);
    are_any_measured.store(true, std::memory_order_relaxed);
}

}  // namespace

void note_event_made(uint64_t event, bool has_timing) {
    std::atomic<uint64_t>& place = place_of(event);
    if (has_timing)
        place.store(event, std::memory_order_relaxed);
    else if (place.load(std::memory_order_relaxed) == event)
        place.store(0, std::memory_order_relaxed);
}

bool has_timing(uint64_t event) {
    return event != 0 && place_of(event).load(std::memory_order_relaxed) == event;
}

void note_timed_record(ThreadState& thread, uint64_t stream, uint64_t now) {
    if (thread.suspected_until == 0) thread.suspected_until = now + kSuspect * process_state->gap_ticks;
    thread.measured_stream = stream;
    if (now < thread.suspected_until) measure_until(thread, now + kSecond * process_state->gap_ticks);
}

void note_elapsed(ThreadState& thread, float ms, uint64_t now) {
    if (ms < kShortMs) {
        measure_until(thread, now + kSecond * process_state->gap_ticks);
        thread.suspected_until = now + kSuspect * process_state->gap_ticks;
    } else {
        measure_until(thread, 0);
        thread.suspected_until = now;
    }
}

bool is_measured(uint64_t stream, uint64_t now) {
    if (!are_any_measured.load(std::memory_order_relaxed)) return false;
    const MeasuredStream& place = place_of_stream(stream);
    return place.number.load(std::memory_order_relaxed) == stream &&
           now < place.until.load(std::memory_order_relaxed);
}

void count_measured() { operations.fetch_add(1, std::memory_order_relaxed); }
uint64_t measured_operations() { return operations.load(std::memory_order_relaxed); }

void forget_measuring() {
    operations.store(0, std::memory_order_relaxed);
    are_any_measured.store(false, std::memory_order_relaxed);
    for (MeasuredStream& place : measured) place.until.store(0, std::memory_order_relaxed);
}

}  // namespace gpushim::shim
