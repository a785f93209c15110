#include "measuring.h"

#include <atomic>
#include <cstddef>

namespace gpushim::shim {
namespace {

constexpr size_t kPlaces = 4096;  // a power of two
constexpr float kShortMs = 10;
constexpr uint64_t kSecond = 20'000;  // in gaps (ProcessState::gap_ticks)
constexpr uint64_t kSuspect = 5 * kSecond;

constexpr auto relaxed = std::memory_order_relaxed;

// Relaxed, all of both tables: who reads one half of a row and the other of the next is wrong for a second.

// An event with timing; and of its last record, as long as that is a sign: in which stream, by whom.
struct TimingEvent {
    std::atomic<uint64_t> number, stream;
    std::atomic<const ThreadState*> by;
};
constinit TimingEvent with_timing[kPlaces] = {};

struct MeasuredStream {
    std::atomic<uint64_t> number, until;
    std::atomic<uint64_t> answered_until;  // … by answers alone
    std::atomic<uint32_t> signs;           // records that are one
};
constexpr size_t kStreams = 64;  // a power of two
constinit MeasuredStream measured[kStreams] = {};
constinit std::atomic<bool> are_any_measured = false;
constinit std::atomic<uint64_t> operations = 0;

TimingEvent& place_of(uint64_t event) { return with_timing[event * 0x9e3779b97f4a7c15 >> 52]; }
static_assert(kPlaces == size_t{1} << (64 - 52));

void forget_event(uint64_t event) {
    TimingEvent& place = place_of(event);
    if (place.number.load(relaxed) == event) place.number.store(0, relaxed);
}

MeasuredStream& place_of_stream(uint64_t number) { return measured[number * 0x9e3779b97f4a7c15 >> 58]; }
static_assert(kStreams == size_t{1} << (64 - 58));

// `signs`: how many stand for it; 0: an answer does.
void measure_until(MeasuredStream& place, uint64_t stream, uint64_t until, uint32_t signs) {
    place.number.store(stream, relaxed);
    place.until.store(until, relaxed);
    if (signs == 0) place.answered_until.store(until, relaxed);
    place.signs.store(signs, relaxed);
    are_any_measured.store(true, relaxed);
}

void note_answer(ThreadState& thread, uint64_t until) {
    thread.measures_until = thread.answered_until = until;
    thread.signs = 0;
    const uint64_t stream = thread.measured_stream;
    if (stream == 0) return;
    MeasuredStream& place = place_of_stream(stream);
    if (until == 0 && place.number.load(relaxed) != stream) return;
    measure_until(place, stream, until, 0);
}

// How many signs there are, with one more, if those before it have not lapsed.
uint32_t with_one_more(uint32_t signs, bool has_lapsed) { return has_lapsed ? 1 : signs + 1; }

// Whether others are left.
bool take_back(uint64_t stream) {
    MeasuredStream& place = place_of_stream(stream);
    const uint32_t signs = place.signs.load(relaxed);
    if (place.number.load(relaxed) != stream || signs == 0) return false;
    place.signs.store(signs - 1, relaxed);
    if (signs == 1) place.until.store(place.answered_until.load(relaxed), relaxed);
    return signs > 1;
}

}  // namespace

void note_event_made(uint64_t event, bool has_timing) {
    if (!has_timing) return forget_event(event);
    TimingEvent& place = place_of(event);
    place.stream.store(0, relaxed);
    place.number.store(event, relaxed);
}

bool has_timing(uint64_t event) { return event != 0 && place_of(event).number.load(relaxed) == event; }

void note_timed_record(ThreadState& thread, uint64_t event, uint64_t stream, uint64_t now) {
    if (thread.suspected_until == 0) {
        thread.suspected_until = now + kSuspect * process_state->gap_ticks;
        thread.suspected_by_signs = true;
    }
    thread.measured_stream = stream;
    if (now >= thread.suspected_until) return;
    TimingEvent& place = place_of(event);
    place.by.store(&thread, relaxed);
    place.stream.store(stream, relaxed);
    const uint64_t until = now + kSecond * process_state->gap_ticks;
    const bool have_lapsed = now >= thread.measures_until;
    if (have_lapsed && thread.signs != 0) thread.suspected_by_signs = false;
    thread.signs = with_one_more(thread.signs, have_lapsed);
    thread.measures_until = until;
    MeasuredStream& measures = place_of_stream(stream);
    const bool is_another = measures.number.load(relaxed) != stream;
    const bool has_lapsed = is_another || now >= measures.until.load(relaxed);
    if (is_another) measures.answered_until.store(0, relaxed);
    measure_until(measures, stream, until, with_one_more(measures.signs.load(relaxed), has_lapsed));
}

void note_event_awaited(ThreadState& thread, uint64_t event) {
    if (!has_timing(event)) return;
    forget_event(event);
    const TimingEvent& place = place_of(event);
    const uint64_t stream = place.stream.load(relaxed);
    if (stream == 0) return;
    const bool are_others_left = take_back(stream);
    if (place.by.load(relaxed) != &thread || thread.signs == 0) return;
    if (--thread.signs != 0) return;
    thread.measures_until = thread.answered_until;
    // Nothing has begun yet. But where a sign of another thread is left, each new one of this thread renews
    // it: for ever, if suspicion had no end.
    if (thread.suspected_by_signs && !are_others_left) thread.suspected_until = 0;
}

void note_elapsed(ThreadState& thread, float ms, uint64_t now) {
    const bool is_short = ms < kShortMs;
    thread.suspected_by_signs = false;
    note_answer(thread, is_short ? now + kSecond * process_state->gap_ticks : 0);
    thread.suspected_until = is_short ? now + kSuspect * process_state->gap_ticks : now;
}

bool is_measured(uint64_t stream, uint64_t now) {
    if (!are_any_measured.load(relaxed)) return false;
    const MeasuredStream& place = place_of_stream(stream);
    return place.number.load(relaxed) == stream && now < place.until.load(relaxed);
}

void count_measured() { operations.fetch_add(1, relaxed); }
uint64_t measured_operations() { return operations.load(relaxed); }

void forget_measuring() {
    operations.store(0, relaxed);
    are_any_measured.store(false, relaxed);
    for (MeasuredStream& place : measured) {
        place.until.store(0, relaxed);
        place.answered_until.store(0, relaxed);
    }
}

}  // namespace gpushim::shim
