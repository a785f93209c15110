#include "operation_events.h"

#include "../base/config.h"
#include "../base/system.h"
#include "../calls/our_events.h"
#include "../calls/questions.h"
#include "../lifecycle.h"
#include "contexts.h"
#include "cupti_callbacks.h"
#include "current_context.h"
#include "event_pool.h"
#include "hardware_queues.h"
#include "measuring.h"
#include "programmatic.h"

namespace gpushim::shim {
namespace {

// An operation's event has up to two slots, one of a gap before it, one of its own events.
constexpr uint64_t kSlots = 4;

constinit std::atomic<bool> by_records = false;
constinit std::atomic<bool> may_hide_captures = false;
constinit std::atomic<uint64_t> on_legacy = 0;
constinit std::atomic<uint64_t> wished = 0;  // a first word; 0: none
constinit std::atomic<uint32_t> wished_events = 0;

bool is_in_window(uint64_t now) {
    // Relaxed: they change only while `timing` says no, and whoever is late there times one operation more.
    return now >= process_state->window_from.load(std::memory_order_relaxed) &&
           now < process_state->window_until.load(std::memory_order_relaxed);
}

uint64_t number_of(CUstream stream) { return reinterpret_cast<uint64_t>(stream); }

// What we take of the thread's time.
class SelfTimed {
  public:
    SelfTimed(ThreadState& thread, uint64_t from) : thread_(thread), from_(from) {}
    ~SelfTimed() {
        if (thread_.ring != nullptr) add(thread_.ring->own_ticks, ticks() - from_);
    }
    SelfTimed(const SelfTimed&) = delete;
    SelfTimed& operator=(const SelfTimed&) = delete;

  private:
    const KeepErrno keep_;
    ThreadState& thread_;
    uint64_t from_;
};

// A context that has ended has left its number behind in threads that did not end it.
void refresh_context(ThreadState& thread) {
    if (is_ended(thread.context)) ask_for_context(thread);
}

// A newer driver may begin captures in ways that we do not know: then each stream is asked.
bool may_capture() { return captures_active() || may_hide_captures.load(std::memory_order_relaxed); }

bool may_record(const Timing& timing) {
    return !may_capture() || takes_events(timing.stream, timing.per_thread);
}

bool record(const Timing& timing, uint32_t event) {
    const CUresult result = record_event(timing.pool->handle(event), timing.stream, timing.per_thread);
    if (result != CUDA_SUCCESS) timing.pool->failed("cuEventRecord", result);
    if (timing.is_legacy) on_legacy.fetch_add(1, std::memory_order_relaxed);
    return result == CUDA_SUCCESS;
}

// Whether the last event of ours in the stream is certainly still to come when the operation is asked for.
bool is_pending(const Timing& timing) {
    if (may_capture()) return false;
    const uint32_t end = timing.use->end.load(std::memory_order_relaxed);
    const uint32_t lives = timing.use->end_lives.load(std::memory_order_relaxed);
    if (timing.pool->lives(end) != lives) return false;
    const CUresult answer = ask_event(timing.pool->handle(end));
    if (answer != CUDA_SUCCESS && answer != CUDA_ERROR_NOT_READY) timing.pool->failed("cuEventQuery", answer);
    // Looked at again after the question: only of an event that nobody has given back the answer counts.
    return answer == CUDA_ERROR_NOT_READY && timing.pool->lives_by_now(end) == lives;
}

// How many start events are wished for before this operation, beside one that it needs.
uint32_t take_wish(uint64_t what) {
    uint64_t expected = wished.load(std::memory_order_relaxed);
    if (expected == 0 || (expected != what && expected != kAnyOperation)) return 0;
    // Acquire: with how many.
    if (!wished.compare_exchange_strong(expected, 0, std::memory_order_acquire)) return 0;
    return wished_events.load(std::memory_order_relaxed);
}

bool record_start(Timing& timing, uint32_t wishes) {
    timing.start = timing.pool->take();
    if (timing.start == kNoEvent) return false;
    // The same event again and again: each is a command of its own, and the last one's stamp is the event's.
    for (uint32_t i = 0; i < wishes; ++i)
        if (!record(timing, timing.start)) return false;
    return record(timing, timing.start);
}

void give_back(const Timing& timing) {
    timing.pool->give(timing.start);
    timing.pool->give(timing.end);
}

bool take_events(Timing& timing, uint64_t what) {
    timing.end = timing.pool->take();
    if (timing.end == kNoEvent) return false;
    const uint32_t wishes = take_wish(what);
    if (wishes == 0 && !timing.fenced && is_pending(timing)) return true;
    return record_start(timing, wishes);
}

// Changes with everything that the stream may have been told to wait for by way of others.
uint32_t others_before(const Timing& timing) {
    return timing.is_apart ? fences_of(timing.context) : uses_of_others(timing.context, timing.is_legacy);
}

// Counts the use, and sees whether the last event of ours is right before it.
void use_stream(Timing& timing, uint32_t context, bool is_legacy) {
    StreamUse& use = *timing.use;
    timing.context = context;
    timing.is_legacy = is_legacy;
    timing.is_apart = use.is_apart.load(std::memory_order_relaxed);
    timing.number = use.uses.fetch_add(1, std::memory_order_relaxed) + 1;
    if (!timing.is_apart) begin_use(context, is_legacy);
    timing.others = others_before(timing);
    const uint64_t window = process_state->window_from.load(std::memory_order_relaxed);
    timing.fenced = use.end.load(std::memory_order_relaxed) == kNoEvent ||
                    use.end_use.load(std::memory_order_relaxed) + 1 != timing.number ||
                    use.others.load(std::memory_order_relaxed) != timing.others ||
                    use.window.load(std::memory_order_relaxed) != window;
    use.others.store(timing.others, std::memory_order_relaxed);
    timing.is_new = use.window.exchange(window, std::memory_order_relaxed) != window;
}

bool gets_events(const Timing& timing, uint64_t stream) {
    if (timing.context == kNoContext || timing.context == kForeignContext) {
        timing.use->window.store(0, std::memory_order_relaxed);  // the next one is its first here
        return true;                                             // it has no events yet, if ever
    }
    return may_get_events(timing.context, stream, timing.number, timing.is_new,
                          timing.use->window.load(std::memory_order_relaxed));
}

// Whether an event beside the operation would keep it from overlapping with its neighbour.
bool is_in_a_chain(const Timing& timing, const Asked& asked) {
    StreamUse& use = *timing.use;
    const uint64_t before = use.what.load(std::memory_order_relaxed);
    // Between windows nobody counts uses.
    const bool is_next = !timing.is_new && use.what_use.load(std::memory_order_relaxed) + 1 == timing.number;
    if (asked.is_programmatic && before != 0 && is_next) note_programmatic_successor(before);
    use.what.store(asked.what, std::memory_order_relaxed);
    use.what_use.store(timing.number, std::memory_order_relaxed);
    if (!asked.is_programmatic && !has_programmatic_successor(asked.what)) return false;
    count_programmatic();
    return true;
}

void leave_stream(const Timing& timing) {
    if (!timing.is_apart) end_use(timing.context, timing.is_legacy);
    release(*timing.use);
}

// Whether no other thread is giving anything to the stream, or to one that is ordered with it: that could
// come to lie between the operation and its events. Asked before the first, and when the last is recorded.
bool are_others_idle(const Timing& timing) {
    return timing.is_apart || !are_others_used(timing.context, timing.is_legacy);
}
bool was_alone(const Timing& timing) {
    return timing.use->uses.load(std::memory_order_relaxed) == timing.number &&
           others_before(timing) == timing.others;
}

// Of a context that has ended the stream is not: its handle is that of another stream.
uint32_t context_of(const StreamUse& use) {
    const uint32_t context = use.context.load(std::memory_order_relaxed);
    return is_ended(context) ? kNoContext : context;
}

bool begin(ThreadState& thread, Timing& timing, const Asked& asked) {
    const StreamKey key = key_of(thread, number_of(timing.stream), timing.per_thread);
    timing.use = hold(key, thread);
    if (timing.use == nullptr) {
        fence_stream(key);
        return false;
    }
    timing.by = Timing::By::events;
    use_stream(timing, context_of(*timing.use), key.is_legacy);
    timing.pool = pool_of(timing.context);
    if (timing.pool == nullptr || timing.pool->is_retired() || (key.is_legacy && !config.legacy_events))
        return false;
    // What goes into a capture does not run, and says nothing of what does.
    if (!are_others_idle(timing) || !may_record(timing)) return false;
    if (is_in_a_chain(timing, asked) || !gets_events(timing, key.number)) return false;
    if (take_events(timing, asked.what)) return true;
    give_back(timing);
    return false;
}

// Position of a slot of the thread's ring; UINT64_MAX: it is of another.
uint64_t position_of(const ThreadState& thread, const Slot* slot) {
    if (slot < thread.slots || slot > thread.slots + thread.mask) return UINT64_MAX;
    const uint64_t newest = thread.ring->head.load(std::memory_order_relaxed) - 1;
    return newest - ((newest - static_cast<uint64_t>(slot - thread.slots)) & thread.mask);
}

void say_timed(ThreadState& thread, const Slot& operation, const event::timed& said) {
    Slot* slot = open_slot(thread, kNoApi, EventKind::timed, operation.flags);
    if (slot == nullptr) return;
    slot->enter = operation.enter;
    slot->exit = ticks();
    put_words(*slot, said);
    complete_slot(slot);
}

// Whether the operation has its events now.
bool end(ThreadState& thread, const Timing& timing, const Slot* slot, bool succeeded) {
    if (slot == nullptr || !succeeded || timing.pool->is_retired()) return false;
    const uint64_t position = position_of(thread, slot);
    StreamUse& use = *timing.use;
    if (position == UINT64_MAX || !find_room(thread, 1) || position_of(thread, slot) != position)
        return false;
    if (!was_alone(timing)) return false;
    if (!driver_usable() || !may_record(timing)) return false;
    // Before the record: afterwards the writer may give it back at any time.
    const uint32_t lives = timing.pool->lives(timing.end);
    if (!record(timing, timing.end) || !was_alone(timing)) return false;
    use.end_lives.store(lives, std::memory_order_relaxed);
    use.end_use.store(timing.number, std::memory_order_relaxed);
    use.end.store(timing.end, std::memory_order_relaxed);
    say_timed(thread, *slot,
              {timing.start | uint64_t{timing.end} << 32, timing.context | (timing.fenced ? kFenced : 0),
               position, number_of(timing.stream)});
    return true;
}

// Whether the operation can be found by its records now.
bool end_by_records(ThreadState& thread, const Slot* slot) {
    const uint32_t number = correlation();
    if (slot == nullptr || number == 0 || !find_room(thread, 1)) return false;
    const uint64_t position = position_of(thread, slot);
    if (position == UINT64_MAX) return false;
    say_timed(thread, *slot, {uint64_t{number} << 32, slot->context, position, 0});
    return true;
}

// Which context a stream is of is asked when the driver has accepted it: what the program gives may be no
// stream at all. The next operation in it has device times.
void find_context(const Timing& timing) {
    constexpr uint64_t kPerThreadHandle = 2;
    if (captures_active() || number_of(timing.stream) <= kPerThreadHandle || !may_record(timing)) return;
    bool green = false;
    const CUcontext context = context_of_stream(timing.stream, green);
    const uint32_t number = green ? kForeignContext : context_number(reinterpret_cast<uint64_t>(context));
    timing.use->context.store(number, std::memory_order_relaxed);
    timing.use->is_apart.store(is_non_blocking(timing.stream), std::memory_order_relaxed);
    timing.use->end.store(kNoEvent, std::memory_order_relaxed);
}

bool is_for_measuring(const ThreadState& thread, const Timing& timing, uint64_t now) {
    return is_measuring(thread, now) ||
           is_measured(key_of(thread, number_of(timing.stream), timing.per_thread).number, now);
}

}  // namespace

void begin_timing(ThreadState& thread, Timing& timing, const Asked& asked, CUstream stream, bool per_thread) {
    const uint64_t now = ticks();
    if (!is_in_window(now) || !driver_usable()) return;
    if (is_timed_by_records()) {
        find_room(thread, kSlots);  // its slots belong into one ring
        timing.by = Timing::By::records;
        return forget_correlation();
    }
    const SelfTimed timed(thread, now);
    timing.stream = stream;
    timing.per_thread = per_thread;
    timing.start = timing.end = kNoEvent;
    refresh_context(thread);
    const bool is_left_alone =
        config.device_time != DeviceTime::events && is_for_measuring(thread, timing, now);
    if (is_left_alone && !may_capture()) count_measured();
    if (is_left_alone || !find_room(thread, kSlots))
        fence_timing(thread, stream, per_thread);
    else if (begin(thread, timing, asked))
        return;
    timing.pool = nullptr;
    if (thread.ring != nullptr) add(thread.ring->untimed, 1);
}

void end_timing(ThreadState& thread, const Timing& timing, const Slot* slot, bool succeeded) {
    const SelfTimed timed(thread, ticks());
    if (timing.by == Timing::By::records) {
        if (!succeeded || (slot != nullptr && (slot->flags & kCaptured) != 0)) return;
        const bool is_timed = end_by_records(thread, slot);
        if (thread.ring != nullptr) add(is_timed ? thread.ring->timed : thread.ring->untimed, 1);
        return;
    }
    if (timing.pool != nullptr) {
        const bool is_timed = end(thread, timing, slot, succeeded);
        if (is_timed) add(thread.ring->own_events, timing.start == kNoEvent ? 1 : 2);
        if (!is_timed) give_back(timing);
        add(is_timed ? thread.ring->timed : thread.ring->untimed, 1);
    } else if (succeeded && timing.context == kNoContext && driver_usable()) {
        find_context(timing);
    }
    leave_stream(timing);
}

void skip_timing(ThreadState& thread, CUstream stream, bool per_thread) {
    if (!is_in_window(ticks())) return;
    fence_timing(thread, stream, per_thread);
    if (thread.ring != nullptr) add(thread.ring->untimed, 1);
}

void fence_timing(const ThreadState& thread, CUstream stream, bool per_thread) {
    if (is_timed_by_records()) return;
    fence_stream(key_of(thread, number_of(stream), per_thread));
}

// Relaxed: set before any window is open, and for good.
bool is_timed_by_records() { return by_records.load(std::memory_order_relaxed); }
void time_by_records() { by_records.store(true, std::memory_order_relaxed); }

void ask_before_records() { may_hide_captures.store(true, std::memory_order_relaxed); }

uint64_t legacy_events() { return on_legacy.load(std::memory_order_relaxed); }

void wish_for_queue(uint64_t what, uint32_t events) {
    wished_events.store(events, std::memory_order_relaxed);
    // Release: with how many.
    wished.store(what, std::memory_order_release);
}

void forget_device_times() {
    forget_pools();
    forget_streams();
    forget_context_visits();
    forget_hardware_queues();
    forget_measuring();
    forget_programmatic();
    on_legacy.store(0, std::memory_order_relaxed);
    by_records.store(false, std::memory_order_relaxed);
    wished.store(0, std::memory_order_relaxed);
}

}  // namespace gpushim::shim
