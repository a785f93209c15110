#include "ahead.h"

#include "../trace/timeline.h"

namespace gpushim::analysis {

std::optional<Call> Ahead::first_of(int64_t device_id, int64_t from_ns) {
    Answer& answer = answers_[device_id];
    if (answer.until_ns < from_ns) answer = look(device_id, from_ns);
    return answer.call;
}

Ahead::Answer Ahead::look(int64_t device_id, int64_t from_ns) const {
    Timeline timeline(trace_, CallsOf::devices, from_ns);
    for (Call call; timeline.next(call);) {
        const bool runs = call.kind == CallKind::operation || call.kind == CallKind::gone;
        if (!runs || call.lane == kNoLane ||
            timeline.lanes()[static_cast<size_t>(call.lane)].device_id != device_id)
            continue;
        return {call.enter_ns, call.timed ? std::optional(call) : std::nullopt};
    }
    return {INT64_MAX, {}};
}

}  // namespace gpushim::analysis
