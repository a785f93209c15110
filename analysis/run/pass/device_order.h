// An operation as the sweep over a GPU needs it (StartOrder gives them by start). Plain values.
#pragma once

#include <algorithm>
#include <cstdint>

#include "../../trace/call.h"
#include "start_order.h"

namespace gpushim::analysis {

struct DeviceOp {
    int64_t start_ns, end_ns;
    int64_t enter_ns, exit_ns;  // of its launch
    int64_t wait_ns;            // of a collective; kNotRecorded
    // How much earlier and later its start and end may have been; at most 2 s.
    int32_t start_before_ns, start_after_ns, end_before_ns, end_after_ns;
    uint32_t thread;  // the caller's number for it
    OperationClass type;
    bool waits : 1;            // the caller knows of something that it waited for
    bool launched_before : 1;  // the recording began
    bool is_later_node : 1;    // of a graph
    bool is_page : 1;          // of managed memory
    uint16_t likely_steps = 0;

    // How far off its times likely are, in 95 of 100 cases: rounded up, and no further than the bounds allow.
    void set_likely_ns(int64_t ns) {
        likely_steps = static_cast<uint16_t>(
            std::clamp<int64_t>((ns + kLikelyStepNs - 1) / kLikelyStepNs, 0, kAsBoundsSay));
    }
    int32_t likely_ns(int32_t bound_ns) const {
        return likely_steps == kAsBoundsSay ? bound_ns : std::min(bound_ns, likely_steps * kLikelyStepNs);
    }

  private:
    static constexpr int32_t kLikelyStepNs = 16, kAsBoundsSay = UINT16_MAX;
};
static_assert(sizeof(DeviceOp) == 64);

using DeviceOrder = StartOrder<DeviceOp>;

}  // namespace gpushim::analysis
