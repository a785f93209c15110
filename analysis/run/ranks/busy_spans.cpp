#include "busy_spans.h"

#include <algorithm>
#include <utility>

namespace gpushim::analysis {

std::optional<Interval> BusySpans::next() {
    for (;; read()) {
        while (const DeviceOp* op = order_.next(until_ns_)) {
            if (op->end_ns <= op->start_ns) continue;
            if (!open_ || op->start_ns > open_->end_ns) {
                if (const auto done = std::exchange(open_, Interval{op->start_ns, op->end_ns})) return done;
            } else {
                open_->end_ns = std::max(open_->end_ns, op->end_ns);
            }
        }
        if (until_ns_ == INT64_MAX) return std::exchange(open_, {});
    }
}

void BusySpans::read() {
    Call call;
    if (!timeline_.next(call)) {
        until_ns_ = INT64_MAX;
        return;
    }
    until_ns_ = std::max(until_ns_, call.enter_ns);
    if (call.kind != CallKind::operation || !call.timed || call.lane == kNoLane) return;
    const auto lane = static_cast<size_t>(call.lane);
    if (timeline_.lanes()[lane].device_id != device_id_) return;
    DeviceOp& op = order_.add(lane, call.times.start_ns);
    op.start_ns = call.times.start_ns;
    op.end_ns = call.times.end_ns;
}

}  // namespace gpushim::analysis
