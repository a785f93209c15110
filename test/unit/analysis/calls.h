// Calls and lanes of timelines that are drawn by hand.
#pragma once

#include <vector>

#include "analysis/trace/timeline.h"

namespace made {

using namespace gpushim::analysis;

constexpr int64_t kContextHandle = 900;

// Streams 0, 1, 2 … of device 0, which know nothing of each other.
inline std::vector<Lane> lanes(int count) {
    std::vector<Lane> all;
    for (int i = 0; i < count; ++i) all.push_back({i, 0, 1, kContextHandle, false, false});
    return all;
}

inline Call launch(int32_t lane, int64_t enter_ns, int64_t exit_ns, int64_t thread = 1) {
    Call call = {};
    call.kind = CallKind::operation;
    call.lane = lane;
    call.enter_ns = enter_ns;
    call.exit_ns = exit_ns;
    call.thread_id = thread;
    call.target_id = kNoTarget;
    return call;
}

// With times that are exact.
inline Call ran(Call call, int64_t start_ns, int64_t end_ns, int events = 0) {
    call.timed = true;
    call.times = {start_ns, start_ns, start_ns, end_ns, end_ns, end_ns, 0, events, start_ns >= call.exit_ns};
    return call;
}

// … within ±start, ±end.
inline Call ran_about(Call call, int64_t start_ns, int64_t within_ns, int64_t end_ns, int64_t end_within_ns) {
    call = ran(call, start_ns, end_ns);
    call.times.start_low_ns -= within_ns;
    call.times.start_high_ns += within_ns;
    call.times.end_low_ns -= end_within_ns;
    call.times.end_high_ns += end_within_ns;
    return call;
}

inline Call other(CallKind kind, int32_t lane, int64_t target, int64_t enter_ns, int64_t exit_ns,
                  int64_t thread = 1) {
    Call call = launch(lane, enter_ns, exit_ns, thread);
    call.kind = kind;
    call.target_id = target;
    return call;
}
inline Call sync_stream(int32_t lane, int64_t enter_ns, int64_t exit_ns, int64_t thread = 1) {
    return other(CallKind::sync, lane, kNoTarget, enter_ns, exit_ns, thread);
}
// In a span whose rows are gone: of a stream, or of the span itself.
inline Call gone(int32_t lane, int64_t enter_ns, int64_t exit_ns) {
    return other(CallKind::gone, lane, kNoTarget, enter_ns, exit_ns, 0);
}
inline Call sync_on(int64_t target, int64_t enter_ns, int64_t exit_ns, int64_t thread = 1) {
    return other(CallKind::sync, kNoLane, target, enter_ns, exit_ns, thread);
}

}  // namespace made
