// What every hooked name runs: the guard, the event, the call. One instance per row and signature; the row
// says what the event is made of. A thunk owns nothing and is not noexcept: an exception, a cancellation or
// longjmp may leave through it, and the next call sees by its stack address that this one is over (guard.h).
//
//   Row::id, Row::kind, Row::traits, Row::Words     from the tables
//   Row::real()                                     where the call goes on; null: nowhere
#pragma once

#include "../base/config.h"
#include "../base/protection.h"
#include "../calls/api.h"
#include "../calls/copies.h"
#include "../calls/questions.h"
#include "../lifecycle.h"
#include "../program/function_names.h"
#include "../ring/host_gap.h"
#include "../ring/recorder.h"
#include "../ring/test_clock.h"
#include "../timing/contexts.h"
#include "../timing/current_context.h"
#include "../timing/operation_events.h"
#include "call_effects.h"
#include "call_in_capture.h"
#include "counters.h"
#include "graph_contents.h"
#include "groups.h"
#include "in_call.h"
#include "outcome.h"
#include "row_facts.h"
#include "stream_words.h"
#include "words.h"

namespace gpushim::shim {

template <class Row, class Signature>
struct Thunk;

template <class Row, class R, class... A>
struct Thunk<Row, R(A...)> {
    using Real = R (*)(A...);
    using Arguments = std::tuple<const A&...>;
    using Facts = RowFacts<Row>;
    using Effects = CallEffects<Row, R(A...)>;
    using Capturing = CallInCapture<Row, A...>;

    static R call(A... a) {
        const auto real = reinterpret_cast<Real>(real_for(__builtin_return_address(0)));
        if (real == nullptr) [[unlikely]]
            return absent<R>();
        InCall here;
        if (const void* before = outer(thread_state); before != nullptr) [[unlikely]]
            if (inside_live(before, &here) || on_signal_stack()) return real(a...);
        count_hit(Row::id);
        if (is_recorded(real)) [[likely]]
            return recorded(real, here, a...);
        if constexpr (has<Row>(traits::starts | traits::inits)) return starting(real, here, a...);
        return real(a...);
    }

  private:
    // Of cuBLAS a process may have two, of two versions of CUDA: each caller goes on in its own.
    [[gnu::always_inline]] static inline void* real_for(const void* caller) {
        return is_product<Row> ? original_for(Row::id, caller) : Row::real();
    }

    // One answer for both reasons, so that what follows is compiled once.
    [[gnu::always_inline]] static inline bool is_recorded([[maybe_unused]] Real real) {
        if constexpr (is_product<Row>)
            return recording() && config.cublas != CublasCalls::off &&
                   reinterpret_cast<void*>(real) == original(Row::id);
        return recording() || (resting() && (Facts::is_of_life || !still_resting()));
    }

    static const void*& outer(ThreadState& thread) {
        if (!kept(Protection::two_guards)) return thread.cuda_frame;
        return is_nccl<Row> ? thread.nccl_frame : is_product<Row> ? thread.cublas_frame : thread.cuda_frame;
    }

    [[gnu::always_inline]] static inline R recorded(Real real, InCall& here, const A&... a) {
        ThreadState& thread = thread_state;
        enter(here);
        outer(thread) = &here;
        begin(thread, &here);
        const bool has_entered = Capturing::enter(thread, a...);
        const R result = event_and_call(thread, real, a...);
        if (has_entered) [[unlikely]]
            leave_streams(thread);
        end(thread, result);
        outer(thread) = nullptr;
        return result;
    }

    [[gnu::always_inline]] static inline R event_and_call(ThreadState& thread, Real real, const A&... a) {
        if constexpr (Row::kind == EventKind::query)
            return polled(thread, real, a...);
        else if constexpr (is_product<Row>)
            return product(thread, real, a...);
        else if constexpr (Facts::is_late)
            return told_later(thread, real, a...);
        else if constexpr (Facts::is_operation)
            return operation(thread, real, a...);
        else
            return plain(thread, real, a...);
    }

    [[gnu::always_inline]] static inline R plain(ThreadState& thread, Real real, const A&... a) {
        if constexpr (fence_word(Row::kind, Row::traits) != kNoStream) {
            if (may_time()) [[unlikely]]
                fence(thread, a...);
        }
        Slot* slot = nullptr;
        const R result = around(thread, slot, real, a...);
        if constexpr (Facts::fills_graphs) {
            if (succeeded(result) && is_current(thread)) fill_graph(thread, a...);
        }
        return result;
    }

    // What may get our events, before it and behind it.
    [[gnu::always_inline]] static inline R operation(ThreadState& thread, Real real, const A&... a) {
        static_assert(fence_word(Row::kind, Row::traits) == kNoStream);
        Timing timing;
        if (may_time()) [[unlikely]]
            ask_for_times(thread, timing, a...);
        Slot* slot = nullptr;
        const R result = around(thread, slot, real, a...);
        if (timing.by != Timing::By::nothing) [[unlikely]]
            if (is_current(thread)) end_timing(thread, timing, slot, succeeded(result));
        return result;
    }

    // The call inside its slot; null: dropped.
    [[gnu::always_inline]] static inline R around(ThreadState& thread, Slot*& slot, Real real,
                                                  const A&... a) {
        Effects::before(a...);
        slot = open(thread);
        if (slot != nullptr) [[likely]]
            before_call(thread, slot->enter, Row::id, slot->flags);
        const R result = real(a...);
        Effects::after(thread, result, a...);
        if (slot != nullptr && is_current(thread)) [[likely]]
            finish(thread, slot, result, a...);
        else
            context_is_untold(thread);
        return result;
    }

    static R told_later(ThreadState& thread, Real real, const A&... a) {
        const uint64_t entered = ticks();
        before_call(thread, entered, Row::id, flags(thread));
        const R result = real(a...);
        Effects::after(thread, result, a...);
        record_late(thread, entered, ticks(), result, a...);
        return result;
    }

    // Told after the launches that it consists of: while a slot is open, all later ones of its thread have to
    // wait. What the thread does between these is its own, as it is without the library: no call begins here.
    [[gnu::always_inline]] static inline R product(ThreadState& thread, Real real, const A&... a) {
        const uint64_t entered = ticks();
        const R result = real(a...);
        if (!is_current(thread)) return result;
        Slot* slot = open_slot(thread, Row::id, Row::kind, 0);
        if (slot == nullptr) [[unlikely]]
            return result;
        slot->exit = slot->enter;
        slot->enter = entered;
        fill(slot, 0, result, a...);
        complete_slot(slot);
        return result;
    }

    // Nothing is recorded yet, and the success of this call may be what begins it.
    [[gnu::noinline, gnu::cold]] static R starting(Real real, InCall& here, const A&... a) {
        ThreadState& thread = thread_state;
        enter(here);
        outer(thread) = &here;
        const Stamp entered = stamp();
        const R result = real(a...);
        const Stamp left = stamp();  // what follows is our own start, not the call
        if (succeeded(result)) first_event(thread, entered, left, result, a...);
        outer(thread) = nullptr;
        return result;
    }

    static void first_event(ThreadState& thread, const Stamp& entered, const Stamp& left, R result,
                            const A&... a) {
        if constexpr (has<Row>(traits::inits)) {
            driver_initialized();
        } else {
            if (!start_after_success()) return;
            thread.context = 0;  // in a child it is what its parent was in
            begin(thread, &entered);
            Effects::after(thread, result, a...);
            record_late(thread, entered.ticks(), left.ticks(), result, a...);
            thread.last_exit = ticks();  // the start is nothing that the program did
            end(thread, result);
        }
    }

    // --- the event --------------------------------------------------------------------------------------

    static void fill_graph(ThreadState& thread, const A&... a) {
        using Filling = std::conditional_t<Row::kind == EventKind::born, event::born, event::graph>;
        tell_contents(thread, Row::Words::template as<Filling>(Arguments(a...)));
    }

    [[gnu::noinline]] static void ask_for_times(ThreadState& thread, Timing& timing, const A&... a) {
        constexpr int word = stream_word(Row::kind, Row::traits);
        constexpr bool has_function = Row::kind == EventKind::launch || Row::kind == EventKind::graph_launch;
        Asked asked = {};
        uint64_t stream = 0;
        if constexpr (has_function) asked.what = Row::Words::first(Arguments(a...));
        if constexpr (has_function)
            asked.is_programmatic = asked.what != 0 && Row::Words::is_programmatic(Arguments(a...));
        if constexpr (word != kNoStream) stream = Row::Words::template word<word>(Arguments(a...));
        begin_timing(thread, timing, asked, as_stream(stream), has<Row>(traits::per_thread));
    }

    // Whatever else a stream is given: after it, the last event of ours is not right before the next
    // operation.
    [[gnu::noinline]] static void fence(ThreadState& thread, const A&... a) {
        constexpr int word = fence_word(Row::kind, Row::traits);
        const uint64_t handle = Row::Words::template word<word>(Arguments(a...));
        if constexpr (Facts::object == traits::of_context)
            fence_context(known_context_number(handle));
        else
            fence_timing(thread, as_stream(handle), has<Row>(traits::per_thread));
    }

    static CUstream as_stream(uint64_t handle) { return reinterpret_cast<CUstream>(handle); }

    static uint8_t flags(const ThreadState& thread) {
        uint8_t bits = has<Row>(traits::per_thread) ? kPerThreadStream : 0;
        if (!is_nccl<Row> && thread.group != 0) bits |= kInsideNccl;
        return bits;
    }

    [[gnu::always_inline]] static inline Slot* open(ThreadState& thread) {
        if constexpr (Row::Words::has_second) {
            // Both in one ring, or the second would follow nothing.
            close_poll(thread);
            if (!has_room(thread, 2)) return nullptr;
        }
        return open_slot(thread, Row::id, Row::kind, flags(thread));
    }

    [[gnu::always_inline]] static inline void finish(ThreadState& thread, Slot* slot, R result,
                                                     const A&... a) {
        slot->exit = ticks();
        fill(slot, 0, result, a...);
        Capturing::mark(thread, *slot);
        // What ties a context's number to its handle is said with the number it has from now on.
        if constexpr (Facts::tells_context) slot->context = thread.context;
        if constexpr (Row::Words::has_second) {
            if (succeeded(result)) add_second(thread, *slot, a...);
        }
        after_call(thread, slot->enter, slot->exit, Row::kind, Row::id, Facts::blocks);
        complete_slot(slot);
        if constexpr (Row::kind == EventKind::launch) {
            if (process_state->wanted.load(std::memory_order_relaxed) != 0) [[unlikely]]
                answer_name(thread, words_of<event::launch>(*slot).function);
        }
    }

    static void fill(Slot* slot, size_t index, R result, const A&... a) {
        Row::Words::store(slot->word, Arguments(a...), succeeded(result), index);
        if (!succeeded(result)) [[unlikely]] {
            slot->flags |= kFailed;
            slot->word[kErrorWord] = static_cast<uint64_t>(result);
        }
    }

    // The slot that would say which context the thread is in was dropped: the next call asks, and says it.
    static void context_is_untold([[maybe_unused]] ThreadState& thread) {
        if constexpr (Facts::tells_context) thread.context = 0;
    }

    static void add_second(ThreadState& thread, const Slot& first, const A&... a) {
        event::odd_launch words;
        if (!Row::Words::take_second(words, Arguments(a...))) return;
        Slot* slot = open_slot(thread, Row::id, EventKind::odd_launch, first.flags);
        if (slot == nullptr) return;
        slot->enter = first.enter;
        slot->exit = first.exit;
        put_words(*slot, words);
        complete_slot(slot);
    }

    [[gnu::noinline]] static void record_late(ThreadState& thread, uint64_t entered, uint64_t left, R result,
                                              const A&... a) {
        const size_t count = Row::Words::count(Arguments(a...), succeeded(result));
        for (size_t i = 0; i < (count != 0 ? count : 1); ++i) {
            const char* text = Row::Words::text(Arguments(a...), succeeded(result));
            const size_t length = words::text_length(text);
            if constexpr (Facts::is_device_work) skip(thread, i, succeeded(result), a...);
            close_poll(thread);
            const bool fits = has_room(thread, 1 + (length + kTextBytes - 1) / kTextBytes);
            Slot* slot = fits ? open_slot(thread, Row::id, Row::kind, flags(thread)) : nullptr;
            if (slot == nullptr) {
                context_is_untold(thread);
                continue;
            }
            slot->enter = entered;
            slot->exit = left;
            fill(slot, i, result, a...);
            Capturing::mark(thread, *slot);
            if (length != 0) slot->word[kLengthWord] = length;
            if (length != 0) append_text(thread, text, length);
            complete_slot(slot);
            if (Facts::names_function && length != 0) name_is_told(slot->word[0]);
        }
        if (is_current(thread)) after_call(thread, entered, left, Row::kind, Row::id, Facts::blocks);
    }

    // One operation of several in a call gets no events of ours. Also where it is not recorded.
    static void skip(ThreadState& thread, size_t index, bool has_succeeded, const A&... a) {
        if (!may_time()) [[likely]]
            return;
        uint64_t words[4];
        Row::Words::store(words, Arguments(a...), has_succeeded, index);
        constexpr int word = stream_word(Row::kind, Row::traits);
        skip_timing(thread, as_stream(words[word & 3]), has<Row>(traits::per_thread));
    }

    // False in a child that was forked inside the call and returns from it: the slot is its parent's.
    static bool is_current(const ThreadState& thread) {
        return thread.generation == process_state->generation;
    }

    // Polls of one handle share a slot for as long as it is not ready.
    static R polled(ThreadState& thread, Real real, const A&... a) {
        const uint64_t handle = Row::Words::first(Arguments(a...));
        Slot* slot = open_poll(thread, handle);
        const auto before = slot != nullptr ? words_of<event::query>(*slot) : event::query{};
        uint64_t entered = slot != nullptr ? ticks() : 0;
        if (slot == nullptr) {
            slot = open_slot(thread, Row::id, Row::kind, flags(thread));
            if (slot != nullptr) entered = slot->enter;
        }
        const R result = real(a...);
        if (slot == nullptr || !is_current(thread)) return result;
        const uint64_t left = ticks();
        put_words(*slot, event::query{handle, before.times + 1, before.ticks + (left - entered)});
        if (!is_not_ready(result) && !succeeded(result)) {
            slot->flags |= kFailed;
            slot->word[kErrorWord] = static_cast<uint64_t>(result);
        }
        // Release: whoever sees that there is an exit sees the words, though the slot stays open.
        __atomic_store_n(&slot->exit, left, __ATOMIC_RELEASE);
        if (before.times == 0) thread.poll_position = thread.ring->head.load(std::memory_order_relaxed);
        before.times == 0 ? before_call(thread, entered, Row::id, slot->flags) : before_poll(thread, entered);
        if (is_not_ready(result)) add(thread.ring->wait_ticks, left - entered);
        after_call(thread, entered, left, Row::kind, Row::id, !is_not_ready(result));
        if (!is_not_ready(result) || before.times + 1 >= kPollsPerSlot) close_poll(thread);
        return result;
    }

    static constexpr uint64_t kPollsPerSlot = 4096;  // a wait of hours shows up before it ends

    static Slot* open_poll(ThreadState& thread, uint64_t handle) {
        if (thread.poll_position == 0 || thread.generation != process_state->generation) return nullptr;
        Slot* slot = &thread.slots[(thread.poll_position - 1) & thread.mask];
        const bool same = slot->api == Row::id && words_of<event::query>(*slot).handle == handle &&
                          slot->context == thread.context && slot->group == thread.group;
        return same ? slot : nullptr;
    }

    // --- what a thread carries from call to call --------------------------------------------------------

    [[gnu::always_inline]] static inline void begin(ThreadState& thread, const void* frame) {
        if constexpr (is_nccl<Row>) {
            thread.group = group_of_call();
        } else {
            // An NCCL call that was left without a word does not own what comes after it.
            if (thread.group != 0 && !inside_live(thread.nccl_frame, frame)) [[unlikely]]
                thread.group = 0;
        }
        if (thread.context == 0) [[unlikely]]
            ask_for_context(thread);
    }

    static void end(ThreadState& thread, R result) {
        if constexpr (is_nccl<Row>) {
            if constexpr (has<Row>(traits::group_begins)) {
                if (succeeded(result)) group_is_open(thread.group);
            }
            if constexpr (has<Row>(traits::group_ends)) group_is_closed();
            thread.group = 0;
        }
    }
};

}  // namespace gpushim::shim
