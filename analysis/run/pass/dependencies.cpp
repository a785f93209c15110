#include "dependencies.h"

#include <algorithm>
#include <utility>

namespace gpushim::analysis {

namespace {

constexpr size_t kMostEvents = 65'536;

}  // namespace

Dependencies::Dependencies(const TraceFacts& facts) : facts_(facts), streams_(facts.lanes.size()) {}

void Dependencies::begin() {
    streams_.assign(facts_.lanes.size(), {});
    events_.clear();
}

void Dependencies::take(const Call& call) {
    if (call.kind == CallKind::sync) return sync(call);
    if (call.lane == kNoLane) return;
    if (call.kind == CallKind::record) return record(call);
    if (call.kind == CallKind::wait) return wait(call);
    if (call.kind != CallKind::host_call) return;
    Stream& stream = streams_[static_cast<size_t>(call.lane)];
    stream.has_waits = true;
    stream.waits.callback_until_ns = INT64_MAX;
    stream.callback_enter_ns = call.enter_ns;
}

void Dependencies::record(const Call& call) {
    // Programs that make an event for each use leave so many that are long over.
    if (events_.size() > kMostEvents)
        std::erase_if(events_, [&](const auto& event) {
            return std::max(event.second.wait.until_ns, event.second.wait.callback_until_ns) <= call.enter_ns;
        });
    const Stream& stream = streams_[static_cast<size_t>(call.lane)];
    Wait wait = {stream.last_end_ns, facts_.gpu_of_lane[static_cast<size_t>(call.lane)], kNever};
    if (stream.waits.until_ns > wait.until_ns) wait = stream.waits;
    wait.callback_until_ns = stream.waits.callback_until_ns;
    events_[call.target_id] = {wait, call.lane, call.enter_ns};
}

void Dependencies::wait(const Call& call) {
    const auto event = events_.find(call.target_id);
    if (event == events_.end()) return;
    Stream& stream = streams_[static_cast<size_t>(call.lane)];
    stream.has_waits = true;
    Wait& waits = stream.waits;
    const Wait& other = event->second.wait;
    if (other.until_ns > waits.until_ns) {
        waits.until_ns = other.until_ns;
        waits.gpu = other.gpu;
    }
    waits.callback_until_ns = std::max(waits.callback_until_ns, other.callback_until_ns);
}

// The functions of the host in that stream that were given to it before are over.
void Dependencies::over(int32_t lane, int64_t before_ns, int64_t at_ns) {
    Stream& stream = streams_[static_cast<size_t>(lane)];
    if (stream.callback_enter_ns < before_ns)
        stream.waits.callback_until_ns = std::min(stream.waits.callback_until_ns, at_ns);
}

void Dependencies::sync(const Call& call) {
    if (call.lane != kNoLane) return over(call.lane, call.enter_ns, call.exit_ns);
    if (call.target_id == kNoTarget) return;
    if (const auto event = events_.find(call.target_id); event != events_.end()) {
        Wait& wait = event->second.wait;
        wait.callback_until_ns = std::min(wait.callback_until_ns, call.exit_ns);
        Stream& stream = streams_[static_cast<size_t>(event->second.lane)];
        if (stream.callback_enter_ns < event->second.enter_ns)
            stream.waits.callback_until_ns = std::min(stream.waits.callback_until_ns, call.exit_ns);
    }
    for (size_t i = 0; i < facts_.lanes.size(); ++i)
        if (facts_.lanes[i].context_handle_id == call.target_id)
            over(static_cast<int32_t>(i), call.enter_ns, call.exit_ns);
}

Dependency Dependencies::end_waits(const Call& operation, Stream& stream) const {
    const int32_t gpu = facts_.gpu_of_lane[static_cast<size_t>(operation.lane)];
    const Wait waits = std::exchange(stream.waits, {});
    stream.callback_enter_ns = kNever;
    stream.has_waits = false;
    Dependency result;
    if (waits.gpu != gpu && waits.until_ns > operation.exit_ns) result.other_gpu_until_ns = waits.until_ns;
    result.host_callback = waits.callback_until_ns > operation.exit_ns;
    result.ready_ns = waits.until_ns;
    return result;
}

}  // namespace gpushim::analysis
