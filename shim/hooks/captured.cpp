#include "captured.h"

#include "../calls/api.h"
#include "../calls/questions.h"
#include "../timing/known_nodes.h"
#include "../timing/stream_callers.h"
#include "words.h"

namespace gpushim::shim {
namespace {

constexpr uint64_t kBytes = (uint64_t{1} << 56) - 1;  // of a `shaped` copy

// False: there may be no node. Of nothing the driver makes none, and what was there before it is still last.
bool held_by(const Slot& slot, HeldByNode& held) {
    switch (static_cast<EventKind>(slot.kind)) {
        case EventKind::launch:
            held = {GraphNode::kernel, words_of<event::launch>(slot).function};
            return true;
        case EventKind::copy:
            held = {GraphNode::copy, words_of<event::copy>(slot).bytes & kBytes};
            return held.value != 0;
        case EventKind::memset:
            held = {GraphNode::memset, 0};
            return words_of<event::memset>(slot).bytes != 0;
        case EventKind::host_call:
            held = {GraphNode::other, 0};
            return true;
        default:
            return false;
    }
}

// The one that the call has put there itself: no other thread was in a call on that stream meanwhile.
uint64_t read_node(const ThreadState& thread, const CaptureFront& front) {
    return front.node != nullptr && may_read(thread) ? words::number(*front.node) : 0;
}

}  // namespace

void look_into_capture(const ThreadState& thread, Slot& slot, CUstream stream, uint32_t traits_of_row,
                       bool makes_node) {
    const bool per_thread = (traits_of_row & traits::per_thread) != 0;
    HeldByNode held = {};
    if (!makes_node || !held_by(slot, held) || !begin_look(thread, words::number(stream))) {
        if (is_capturing(stream, per_thread)) slot.flags |= kCaptured;
        return;
    }
    const CaptureFront front = capture_front(stream, per_thread);
    const uint64_t node = read_node(thread, front);
    end_look(thread);
    if (!front.is_active) return;
    slot.flags |= kCaptured;
    node_is_made(words::number(front.graph), node, held);
}

}  // namespace gpushim::shim
