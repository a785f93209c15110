// What a call changes of what we know, beside its own event: which streams, contexts and captures there are,
// who measures, what is asked for. By the row, so that for most calls it is nothing. On the program's thread.
#pragma once

#include <tuple>

#include "../calls/api.h"
#include "../calls/questions.h"
#include "../lifecycle.h"
#include "../program/capture_range.h"
#include "../program/function_names.h"
#include "../ring/ticks.h"
#include "../timing/captures.h"
#include "../timing/contexts.h"
#include "../timing/known_nodes.h"
#include "../timing/measuring.h"
#include "../timing/operation_events.h"
#include "../timing/stream_uses.h"
#include "outcome.h"
#include "row_facts.h"
#include "words.h"

namespace gpushim::shim {

template <class Row, class Signature>
struct CallEffects;

template <class Row, class R, class... A>
struct CallEffects<Row, R(A...)> {
    using Arguments = std::tuple<const A&...>;
    using Facts = RowFacts<Row>;

    // Before the call: what has to be so while it is under way.
    static void before([[maybe_unused]] const A&... a) {
        if constexpr (has<Row>(traits::capture_begins)) capture_is_beginning();
        if constexpr (has<Row>(traits::capture_ends))
            capture_is_ending(thread_state, captured_stream(a...), has<Row>(traits::per_thread));
        if constexpr (Facts::ends_context) {
            if (may_time()) context_may_end();
            context_is_ending(context_to_end(a...));
        }
        if constexpr (Row::kind == EventKind::record && Facts::object == traits::of_stream) {
            if (has_timing(Row::Words::first(Arguments(a...)))) note_timed(a...);
        }
        if constexpr (Row::kind == EventKind::wait && Facts::object == traits::of_stream)
            note_event_awaited(thread_state, Row::Words::first(Arguments(a...)));
        if constexpr (is_end_of_stream) {
            stream_is_gone(Row::Words::first(Arguments(a...)));
            capture_may_go(Row::Words::first(Arguments(a...)));
        }
        if constexpr (Row::kind == EventKind::died && Facts::object == traits::of_graph)
            graph_is_gone(Row::Words::first(Arguments(a...)));
        if constexpr (changes_node) node_may_change(Row::Words::template word<kNodeWord>(Arguments(a...)));
    }

    // After it, whether it succeeded or not.
    static void after([[maybe_unused]] ThreadState& thread, [[maybe_unused]] R result,
                      [[maybe_unused]] const A&... a) {
        if constexpr (has<Row>(traits::capture_begins)) {
            capture_has_begun(thread, captured_stream(a...), has<Row>(traits::per_thread), succeeded(result));
            if (succeeded(result)) note_captured_graph(a...);
        }
        if constexpr (has<Row>(traits::capture_ends)) {
            if (ends_capture(result))
                capture_has_ended(thread, captured_stream(a...), has<Row>(traits::per_thread));
            else
                capture_goes_on(thread, captured_stream(a...), has<Row>(traits::per_thread));
            if (!succeeded(result)) graphs_may_be_gone();
        }
        if constexpr (Facts::object == traits::of_graph) {
            if (succeeded(result)) note_graph(a...);
        }
        if constexpr (Facts::ends_code) {
            if (succeeded(result)) functions_may_be_gone();
        }
        if constexpr (Row::kind == EventKind::born && Facts::object == traits::of_function) {
            if (succeeded(result)) function_is_new(Row::Words::first(Arguments(a...)));
        }
        if constexpr (is_end_of_stream)
            capture_has_gone(Row::Words::first(Arguments(a...)), succeeded(result));
        if constexpr (Facts::ends_context) note_context_end(succeeded(result), a...);
        if constexpr (Row::kind == EventKind::born &&
                      (Facts::object == traits::of_stream || Facts::object == traits::of_context)) {
            if (succeeded(result)) note_birth(thread, a...);
        }
        if constexpr (Row::kind == EventKind::born && Facts::object == traits::of_event) {
            if (succeeded(result)) note_event(a...);
        }
        if constexpr (Facts::tells_elapsed) {
            if (succeeded(result)) note_elapsed(thread, *std::get<0>(Arguments(a...)), ticks());
        }
        if constexpr (has<Row>(traits::profiler_starts | traits::profiler_stops)) {
            if (succeeded(result)) profiler_turned(has<Row>(traits::profiler_starts));
        }
        if constexpr (Facts::tells_context)
            thread.context = context_number(words::number(current_context()));
        else if constexpr (may_change_context)
            thread.context = 0;  // the next call asks
    }

  private:
    static auto first_argument(const A&... a) { return std::get<0>(Arguments(a...)); }

    // The context that the call may end, by its number.
    static uint32_t context_to_end(const A&... a) {
        if constexpr (has<Row>(traits::primary))
            return known_context_number(primary_context_of(static_cast<CUdevice>(first_argument(a...))));
        else
            return known_context_number(Row::Words::first(Arguments(a...)));
    }

    static constexpr bool is_end_of_stream =
        Row::kind == EventKind::died && Facts::object == traits::of_stream;

    // The runtime retains a primary context before it makes that current, in a way that no hook sees.
    static constexpr bool may_change_context =
        has<Row>(traits::current) || (Row::kind == EventKind::born && has<Row>(traits::primary));

    static uint64_t captured_stream(const A&... a) { return words::number(first_argument(a...)); }

    // The others of a graph say which node they change or end.
    static constexpr bool changes_node =
        Row::kind == EventKind::graph && Facts::object == traits::of_graph && !Row::Words::makes_node;
    static constexpr size_t kNodeWord = offsetof(event::graph, node) / sizeof(uint64_t);

    // Nobody says which graph a capture fills; what is put into it is told of that one.
    static void note_captured_graph(const A&... a) {
        const auto stream = reinterpret_cast<CUstream>(captured_stream(a...));
        const CaptureFront front = capture_front(stream, has<Row>(traits::per_thread));
        if (front.graph != nullptr)
            graph_is_made(words::number(front.graph));
        else
            graphs_may_be_gone();
    }

    static void note_graph(const A&... a) {
        if constexpr (Row::kind == EventKind::born) {
            const auto born = Row::Words::template as<event::born>(Arguments(a...));
            // A copy's nodes are new ones, and nobody has said what they hold.
            if (Row::id == api_cuGraphClone)
                graph_is_gone(born.handle);
            else
                graph_is_made(born.handle);
        } else if constexpr (Row::Words::makes_node) {
            const auto made = Row::Words::template as<event::graph>(Arguments(a...));
            GraphNode kind;
            if (!Row::Words::take_made(kind, Arguments(a...))) return;
            if (kind != GraphNode::child)
                node_is_made(made.handle, made.node, {kind, made.value});
            else if (Row::id != api_cuGraphAddChildGraphNode)  // that one copies it
                graph_is_gone(made.value);                     // it may be the node's from now on
        }
    }

    static void note_context_end(bool ended, const A&... a) {
        bool lives_on = false;
        if constexpr (has<Row>(traits::primary))
            lives_on = Row::Words::template as<event::died>(Arguments(a...)).still_active != 0;
        context_has_ended(context_to_end(a...), ended && !lives_on);
        if (ended && !lives_on && Row::id != api_cuCtxDetach)
            captures_of_context_have_gone(context_to_end(a...));
        if (ended) functions_may_be_gone();
        // A context that was detached from may live on; then nothing has device times in it any more.
        if (!ended || lives_on || Row::id == api_cuCtxDetach) return;
        if constexpr (has<Row>(traits::primary))
            context_gone(primary_context_of(static_cast<CUdevice>(first_argument(a...))));
        else
            context_gone(Row::Words::first(Arguments(a...)));
    }

    static void note_timed(const A&... a) {
        const uint64_t stream = Row::Words::template word<stream_at<event::record>()>(Arguments(a...));
        const StreamKey key = key_of(thread_state, stream, has<Row>(traits::per_thread));
        note_timed_record(thread_state, Row::Words::first(Arguments(a...)), key.number, ticks());
    }

    static void note_birth(const ThreadState& thread, const A&... a) {
        const auto born = Row::Words::template as<event::born>(Arguments(a...));
        if constexpr (Facts::object == traits::of_stream)
            stream_is_born(born.handle,
                           Row::id == api_cuGreenCtxStreamCreate ? kForeignContext : thread.context,
                           (born.extra & CU_STREAM_NON_BLOCKING) != 0);
        else
            context_is_born(born.handle);
        if constexpr (has<Row>(traits::primary))
            primary_context_is(static_cast<CUdevice>(born.extra), born.handle);
        else if constexpr (Row::id == api_cuCtxFromGreenCtx)
            context_is_ending(context_number(born.handle));  // by a call that does not name it: never visited
    }

    static void note_event(const A&... a) {
        const auto born = Row::Words::template as<event::born>(Arguments(a...));
        // Another process's is without.
        const bool is_ours = Row::id == api_cuEventCreate;
        note_event_made(born.handle, is_ours && (born.extra & CU_EVENT_DISABLE_TIMING) == 0);
    }
};

}  // namespace gpushim::shim
