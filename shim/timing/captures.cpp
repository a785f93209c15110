#include "captures.h"

#include <sched.h>

#include "../base/system.h"
#include "../ring/clock.h"
#include "contexts.h"
#include "known_nodes.h"
#include "stream_uses.h"

namespace gpushim::shim {
namespace {

constexpr size_t kPlaces = 64;
constexpr uint64_t kLastHandleOfDefaults = 2;  // CU_STREAM_PER_THREAD
constexpr int64_t kPatienceNs = 100'000'000;

enum class State : uint32_t {
    free,
    writing,
    open,
    asked,  // the driver's thread asks for it
    going,  // its stream is being destroyed, or it is being ended
};

struct Place {
    std::atomic<State> state;
    std::atomic<uint64_t> key;  // StreamKey::number
    std::atomic<uint32_t> context;
    std::atomic<bool> has_handle;  // which any thread can ask for; a default stream has none
    std::atomic<int64_t> began_ns;
};

constinit Place places[kPlaces] = {};
constinit std::atomic<uint32_t> without_place = 0;

// Acquire and release: what a place says goes with its state.
bool turn(Place& place, State from, State to) {
    return place.state.compare_exchange_strong(from, to, std::memory_order_acq_rel);
}

void one_less() { process_state->captures.fetch_sub(1, std::memory_order_relaxed); }

// Without a graph to show for it.
void one_came_to_nothing() {
    one_less();
    graphs_may_be_gone();
}

bool is_there(const Place& place, uint64_t key) {
    const State state = place.state.load(std::memory_order_acquire);
    return state != State::free && state != State::writing &&
           place.key.load(std::memory_order_relaxed) == key;
}

Place* find(uint64_t key) {
    for (Place& place : places)
        if (is_there(place, key)) return &place;
    return nullptr;
}

// Its stream is about to go: not while the driver's thread asks for it, unless that gets no answer.
void turn_when_not_asked(Place& place, State to) {
    const int64_t until_ns = clock_ns(CLOCK_MONOTONIC) + kPatienceNs;
    while (!turn(place, State::open, to)) {
        if (place.state.load(std::memory_order_acquire) != State::asked) return;
        if (clock_ns(CLOCK_MONOTONIC) > until_ns && turn(place, State::asked, to)) return;
        sched_yield();
    }
}

// The thread that asks for it finds another state than it left, and changes nothing. False: another was
// quicker.
bool set_free(Place& place) {
    for (;;) {
        const State state = place.state.load(std::memory_order_acquire);
        if (state == State::free || state == State::writing) return false;
        if (turn(place, state, State::free)) return true;
    }
}

bool remove(uint64_t key) {
    Place* place = find(key);
    if (place == nullptr || !set_free(*place)) return false;
    one_less();
    return true;
}

bool is_only_context(uint32_t context) {
    NumberedContext some[2];
    return numbered_contexts(some, 2) == 1 && some[0].number == context;
}

// The stream's own, as far as anybody has told; the thread's where there is no other.
uint32_t context_of(const StreamKey& key, const ThreadState& thread) {
    if (key.context != kNoContext) return key.context;
    const uint32_t known = known_context_of(key.number);
    if (known != kNoContext) return known;
    return is_only_context(thread.context) ? thread.context : kNoContext;
}

bool add(const StreamKey& key, uint32_t context, bool has_handle) {
    for (Place& place : places) {
        if (!turn(place, State::free, State::writing)) continue;
        place.key.store(key.number, std::memory_order_relaxed);
        place.context.store(context, std::memory_order_relaxed);
        place.has_handle.store(has_handle, std::memory_order_relaxed);
        place.began_ns.store(trace_now_ns(), std::memory_order_relaxed);
        place.state.store(State::open, std::memory_order_release);
        return true;
    }
    return false;
}

bool take_one_without_place() {
    uint32_t count = without_place.load(std::memory_order_relaxed);
    while (count != 0)
        if (without_place.compare_exchange_weak(count, count - 1, std::memory_order_relaxed)) return true;
    return false;
}

}  // namespace

void capture_is_beginning() { process_state->captures.fetch_add(1, std::memory_order_relaxed); }

void capture_has_begun(const ThreadState& thread, uint64_t stream, bool per_thread, bool succeeded) {
    if (!succeeded) return one_less();
    const StreamKey key = key_of(thread, stream, per_thread);
    if (remove(key.number)) graphs_may_be_gone();  // its end was not seen
    if (!add(key, context_of(key, thread), stream > kLastHandleOfDefaults))
        without_place.fetch_add(1, std::memory_order_relaxed);
}

// The driver's thread that asks just now may find it over before we do; then it has come to nothing.
void capture_is_ending(const ThreadState& thread, uint64_t stream, bool per_thread) {
    if (!captures_active()) return;
    if (Place* place = find(key_of(thread, stream, per_thread).number))
        turn(*place, State::open, State::going);
}

void capture_goes_on(const ThreadState& thread, uint64_t stream, bool per_thread) {
    if (!captures_active()) return;
    if (Place* place = find(key_of(thread, stream, per_thread).number))
        turn(*place, State::going, State::open);
}

void capture_has_ended(const ThreadState& thread, uint64_t stream, bool per_thread) {
    // One that began before recording did was not counted.
    if (!captures_active() || remove(key_of(thread, stream, per_thread).number)) return;
    if (take_one_without_place()) one_less();
}

void capture_may_go(uint64_t stream) {
    if (!captures_active() || stream <= kLastHandleOfDefaults) return;
    if (Place* place = find(stream)) turn_when_not_asked(*place, State::going);
}

void capture_has_gone(uint64_t stream, bool gone) {
    if (!captures_active() || stream <= kLastHandleOfDefaults) return;
    Place* place = find(stream);
    if (place == nullptr) return;
    // Of another thread's stream that has got the handle meanwhile it is not.
    if (gone && turn(*place, State::going, State::free))
        one_came_to_nothing();
    else if (!gone)
        turn(*place, State::going, State::open);
}

void captures_of_context_have_gone(uint32_t context) {
    if (!captures_active() || context == kNoContext) return;
    for (Place& place : places)
        if (place.context.load(std::memory_order_relaxed) == context &&
            is_there(place, place.key.load(std::memory_order_relaxed)) && set_free(place))
            one_came_to_nothing();
}

void visit_captures(uint32_t context, bool (*is_over)(uint64_t stream)) {
    // Whose ends are not told apart: what looks over can be another one's end that is on its way here.
    if (without_place.load(std::memory_order_relaxed) != 0) return;
    for (Place& place : places) {
        if (!turn(place, State::open, State::asked)) continue;
        const bool is_its = place.context.load(std::memory_order_relaxed) == context &&
                            place.has_handle.load(std::memory_order_relaxed);
        const bool over = is_its && is_over(place.key.load(std::memory_order_relaxed));
        // Not where the program could not wait for the answer.
        if (turn(place, State::asked, over ? State::free : State::open) && over) one_came_to_nothing();
    }
}

bool oldest_capture(int64_t& began_ns, uint32_t& context) {
    bool is_any = false;
    for (const Place& place : places) {
        const State state = place.state.load(std::memory_order_acquire);
        const int64_t its_ns = place.began_ns.load(std::memory_order_relaxed);
        if (state == State::free || state == State::writing || (is_any && its_ns >= began_ns)) continue;
        began_ns = its_ns;
        context = place.context.load(std::memory_order_relaxed);
        is_any = true;
    }
    return is_any;
}

void forget_captures() {
    for (Place& place : places) place.state.store(State::free, std::memory_order_relaxed);
    without_place.store(0, std::memory_order_relaxed);
}

}  // namespace gpushim::shim
