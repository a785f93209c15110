// Which of an event's words is a stream, by the row it is of. Constant; any thread.
#pragma once

#include "../calls/api.h"

namespace gpushim::shim {

constexpr int kNoStream = -1;

// Which word of an event is the stream that the device does it on.
constexpr int stream_word(EventKind kind, uint32_t traits_of_row) {
    switch (kind) {
        case EventKind::launch:
        case EventKind::graph_launch:
            return 1;
        case EventKind::copy:
            return (traits_of_row & traits::blocking) != 0 ? kNoStream : 3;
        case EventKind::memset:
            return (traits_of_row & traits::blocking) != 0 ? kNoStream : 2;
        case EventKind::host_call:
        case EventKind::value:
            return 0;
        case EventKind::record:
        case EventKind::wait:
            return (traits_of_row & traits::object_bits) == traits::of_stream ? 1 : kNoStream;
        case EventKind::collective:
            return 3;
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
            return 0;
        case EventKind::record:
            return object == traits::of_stream ? 1 : kNoStream;
        case EventKind::wait:
            return 1;
        case EventKind::memory:
            return object == traits::pool_memory ? 3 : kNoStream;
        default:
            return (traits_of_row & traits::fences) != 0 ? 0 : kNoStream;
    }
}

}  // namespace gpushim::shim
