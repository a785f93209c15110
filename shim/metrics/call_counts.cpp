#include "call_counts.h"

#include <algorithm>
#include <iterator>

#include "../rows/communicators.h"
#include "../schema/size_class.h"

namespace gpushim::shim {
namespace {

constexpr EventKind kOperations[] = {EventKind::launch, EventKind::graph_launch, EventKind::copy,
                                     EventKind::memset, EventKind::collective};
static_assert(std::size(kOperations) == std::size(CallCounts::OnDevice().operations));

constexpr uint64_t kCopyBytes = (uint64_t{1} << 56) - 1;  // of a `shaped` row (events.def)

const ApiTraits& api_of(const Event& event) { return api_traits[event.slot.api % kApis]; }
bool has_failed(const Event& event) { return (event.slot.flags & kFailed) != 0; }

}  // namespace

void CallCounts::add(std::span<const Event> events) {
    for (const Event& event : events) {
        contexts_.take(event);
        if (event.exit_ns != kUnfinished && (event.slot.flags & kCaptured) == 0) add(event);
    }
}

void CallCounts::add(const Event& event) {
    const auto kind = static_cast<EventKind>(event.slot.kind);
    if (kind == EventKind::sync)
        on_devices_[contexts_.device_of(event)].wait_ns += event.exit_ns - event.enter_ns;
    if (kind == EventKind::marker) add_step(event);
    const auto* place = std::find(std::begin(kOperations), std::end(kOperations), kind);
    if (place == std::end(kOperations)) return;
    // What a collective launches is the collective's.
    if (kind != EventKind::collective && (event.slot.flags & kInsideNccl) != 0) return;
    OnDevice& device = on_devices_[contexts_.device_of(event)];
    Operations& operations = device.operations[static_cast<size_t>(place - std::begin(kOperations))];
    ++operations.submitted;
    operations.failed += has_failed(event);
    last_operation_ns_ = std::max(last_operation_ns_, event.enter_ns);
    if (has_failed(event)) return;
    if (kind == EventKind::collective) add_collective(event);
    if (kind != EventKind::copy) return;
    const bool is_shaped = (api_of(event).traits & traits::shaped) != 0;
    device.copy_bytes += words_of<event::copy>(event.slot).bytes & (is_shaped ? kCopyBytes : UINT64_MAX);
}

void CallCounts::add_collective(const Event& event) {
    const auto words = words_of<event::collective>(event.slot);
    const int64_t datum = dtype_bytes(static_cast<int64_t>(words.how & 0xff));
    const uint64_t bytes = datum == kNull ? 0 : words.count * static_cast<uint64_t>(datum);
    Collectives& sum = collectives_[{api_of(event).base, size_class(bytes)}];
    ++sum.calls;
    sum.bytes += bytes;
    sum.has_bytes &= datum != kNull;
}

// A step lasts until the next one of its thread.
void CallCounts::add_step(const Event& event) {
    const auto words = words_of<event::marker>(event.slot);
    const auto what = static_cast<Marker>(words.what);
    if (what != Marker::step && what != Marker::step_n) return;
    last_step_ns_ = std::max(last_step_ns_, event.enter_ns);
    OpenStep begins = {event.enter_ns, {}};
    if (what == Marker::step_n) begins.samples = words.value;
    const auto open = open_steps_.find(event.thread_id);
    if (open != open_steps_.end()) {
        ++steps_;
        step_ns_ += event.enter_ns - open->second.began_ns;
        if (open->second.samples) samples_ = samples_.value_or(0) + *open->second.samples;
        open->second = begins;
    } else if (open_steps_.size() < kMostThreads) {
        open_steps_[event.thread_id] = begins;
    }
}

}  // namespace gpushim::shim
