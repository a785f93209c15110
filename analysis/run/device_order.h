// An operation as the sweep over a GPU needs it (StartOrder gives them by start). Plain values.
#pragma once

#include "../trace/call.h"
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
    bool waits;  // the caller knows of something that it waited for
};
static_assert(sizeof(DeviceOp) == 64);

using DeviceOrder = StartOrder<DeviceOp>;

}  // namespace gpushim::analysis
