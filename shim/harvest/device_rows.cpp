#include "device_rows.h"

#include "../base/config.h"
#include "../rows/table_limits.h"

namespace gpushim::shim {

DeviceRows::DeviceRows(const char* level) : errors_(level, limits_of(config.max_bytes).level_errors) {}

void DeviceRows::add(const TimedOperation& operation, const OperationTimes& times, int events) {
    const auto add_to = [&](auto& rows) {
        rows.add({.enter_ns = operation.enter_ns,
                  .start_offset_ns = times.start_ns - operation.enter_ns,
                  .dur_ns = times.end_ns - times.start_ns,
                  .level_error_id = errors_.id(times, events)},
                 operation.series);
    };
    switch (operation.operation) {
        case Operation::launch:
            return add_to(launch_);
        case Operation::copy:
            return add_to(copy_);
        case Operation::memset:
            return add_to(memset_);
        case Operation::graph_launch:
            return add_to(graph_launch_);
    }
}

bool runs_on_device(const Event& event) {
    const auto kind = static_cast<EventKind>(event.slot.kind);
    const bool runs = (event.slot.flags & (kCaptured | kFailed)) == 0 && event.exit_ns != kUnfinished;
    return runs && (kind == EventKind::launch || kind == EventKind::graph_launch || kind == EventKind::copy ||
                    kind == EventKind::memset);
}

}  // namespace gpushim::shim
