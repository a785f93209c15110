#include "wait_rows.h"

namespace gpushim::shim {

void WaitRows::add_sync(const Call& call, int64_t dur_ns, int64_t calls) {
    const uint64_t handle = call.handle();
    const bool on_stream = call.finished && call.object() == Object::stream;
    const Life* life = target(call, handle);
    if (call.finished && call.object() == Object::context && handle == 0)
        life = streams_.context_life(call.event.slot.context);
    const int64_t stream_id = on_stream ? stream_of(call, handle) : kNull;
    Series series = series_of(call, SeriesKind::sync, stream_id);
    if (life != nullptr) series.object = static_cast<int64_t>(life->object);
    tables_.sync.add({.enter_ns = call.enter_ns,
                      .dur_ns = dur_ns,
                      .thread_id = call.thread,
                      .api_id = call.api,
                      .target_id = life != nullptr ? life->id : kNull,
                      .stream_id = stream_id,
                      .calls = calls,
                      .group_id = call.group,
                      .flags = call.flags},
                     series_.id(series));
}

void WaitRows::sync(const Call& call) { add_sync(call, call.dur_ns, 1); }

// Ticks become time as those of the whole row do: polls share a clock with their slot.
void WaitRows::query(const Call& call) {
    const Slot& slot = call.event.slot;
    if (!call.finished) return add_sync(call, kNull, 1);
    const auto words = words_of<event::query>(slot);
    const auto ticks = static_cast<double>(slot.exit - slot.enter);
    const double share = ticks > 0 ? static_cast<double>(words.ticks) / ticks : 1;
    const auto dur_ns =
        static_cast<int64_t>(static_cast<double>(call.dur_ns) * (share < 1 ? share : 1) + 0.5);
    add_sync(call, dur_ns, words.times == 0 ? 1 : static_cast<int64_t>(words.times));
}

void WaitRows::stream_first(const Call& call) {
    const uint64_t stream = call.handle();
    const Life* life = call.succeeded ? streams_.life_of(use(call, stream)) : nullptr;
    add_call(call, life != nullptr ? life->id : kNull, call.succeeded ? stream_of(call, stream) : kNull);
}

// Where the row is of a context, the second word is one and no stream.
void WaitRows::event_on_stream(const Call& call) {
    const bool on_stream = call.succeeded && call.object() != Object::context;
    const auto words = call.words<event::record>();
    const int64_t event_id = call.succeeded && words.event != 0
                                 ? handles_.at(Object::event, words.event, call.enter_ns).id
                                 : kNull;
    add_call(call, event_id, on_stream ? stream_of(call, words.stream) : kNull);
}

void WaitRows::other(const Call& call) {
    if (call.has(traits::profiler_starts | traits::profiler_stops)) return profiler(call);
    const bool on_stream = call.succeeded && call.object() == Object::stream;
    add_call(call, target_id(call, call.handle()), on_stream ? stream_of(call, call.handle()) : kNull);
}

void WaitRows::profiler(const Call& call) {
    spans_.add_marker(call, call.has(traits::profiler_starts) ? "profiler_start" : "profiler_stop", kNull,
                      kNull);
}

}  // namespace gpushim::shim
