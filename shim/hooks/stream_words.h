// Which of an event's words is a stream, by the row it is of. Constant; any thread.
#pragma once

#include <cstddef>

#include "../calls/api.h"
#include "../ring/ring_format.h"

namespace gpushim::shim {

constexpr int kNoStream = -1;

// Where a kind of event has a word `stream`.
template <class E>
constexpr int stream_at() {
    if constexpr (requires(E words) { words.stream; })
        return offsetof(E, stream) / sizeof(uint64_t);
    else
        return kNoStream;
}
constexpr int stream_at(EventKind of) {
    switch (of) {
#define EVENT(kind, ...)  \
    case EventKind::kind: \
        return stream_at<event::kind>();
#include "../ring/events.def"
    }
    return kNoStream;
}

// Which word of an event is the stream that the device does it on.
constexpr int stream_word(EventKind kind, uint32_t traits_of_row) {
    switch (kind) {
        case EventKind::launch:
        case EventKind::graph_launch:
        case EventKind::host_call:
        case EventKind::value:
        case EventKind::collective:
            return stream_at(kind);
        case EventKind::copy:
        case EventKind::memset:
            return (traits_of_row & traits::blocking) != 0 ? kNoStream : stream_at(kind);
        case EventKind::record:
        case EventKind::wait:
            return (traits_of_row & traits::object_bits) == traits::of_stream ? stream_at(kind) : kNoStream;
        default:
            return kNoStream;
    }
}

// Which word of an event is the stream, or context, that is given something that is no operation.
constexpr int fence_word(EventKind kind, uint32_t traits_of_row) {
    const uint32_t object = traits_of_row & traits::object_bits;
    switch (kind) {
        case EventKind::host_call:
        case EventKind::value:
        case EventKind::wait:
            return stream_at(kind);
        case EventKind::record:
            return object == traits::of_stream ? stream_at(kind) : kNoStream;
        case EventKind::memory:
            return object == traits::pool_memory ? stream_at(kind) : kNoStream;
        default:
            return (traits_of_row & traits::fences) != 0 ? 0 : kNoStream;
    }
}

constexpr int kAnyStream = -2;

// Which word of an event is the stream that the call is about, in whatever way. The legacy stream of copies
// that block captures nothing.
constexpr int stream_of_call(EventKind kind, uint32_t traits_of_row) {
    const uint32_t object = traits_of_row & traits::object_bits;
    if ((traits_of_row & traits::capture_ends) != 0) return kAnyStream;
    if ((traits_of_row & traits::capture_begins) != 0) return 0;
    if (object == traits::of_context && (kind == EventKind::record || kind == EventKind::wait))
        return kAnyStream;
    if (stream_word(kind, traits_of_row) != kNoStream) return stream_word(kind, traits_of_row);
    if (fence_word(kind, traits_of_row) != kNoStream) return fence_word(kind, traits_of_row);
    if (object != traits::of_stream) return kNoStream;
    if (kind == EventKind::died) return kAnyStream;
    return kind == EventKind::sync || kind == EventKind::query || kind == EventKind::other ? 0 : kNoStream;
}

}  // namespace gpushim::shim
