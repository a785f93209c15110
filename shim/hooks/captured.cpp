#include "captured.h"

#include "../calls/api.h"
#include "../calls/questions.h"
#include "../timing/known_nodes.h"
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

}  // namespace

void look_into_capture(Slot& slot, CUstream stream, uint32_t traits_of_row, bool makes_node) {
    const CaptureFront front = capture_front(stream, (traits_of_row & traits::per_thread) != 0);
    if (!front.is_active) return;
    slot.flags |= kCaptured;
    if (front.graph == nullptr) return graphs_may_be_gone();  // something has changed in one of them
    HeldByNode held = {};
    const bool is_made = makes_node && held_by(slot, held);
    captured_into(words::number(front.graph), is_made ? words::number(front.node) : 0, held, slot.enter);
}

}  // namespace gpushim::shim
