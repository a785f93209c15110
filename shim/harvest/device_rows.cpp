#include "device_rows.h"

#include "../base/config.h"
#include "../rows/table_limits.h"

namespace gpushim::shim {

DeviceRows::DeviceRows(const char* level) : errors_(level, limits_of(config.max_bytes).level_errors) {}

void DeviceRows::add(const TimedOperation& operation, const OperationTimes& times, int events) {
    RowsOf<4, 1>* const tables[] = {&launch_, &copy_, &memset_, &graph_launch_};  // in the order of Operation
    tables[static_cast<size_t>(operation.operation)]->add(
        operation.enter_ns, times.start_ns - operation.enter_ns, times.end_ns - times.start_ns,
        errors_.id(times, events), operation.series);
}

bool runs_on_device(const Event& event) {
    const auto kind = static_cast<EventKind>(event.slot.kind);
    const bool runs = (event.slot.flags & (kCaptured | kFailed)) == 0 && event.exit_ns != kUnfinished;
    return runs && (kind == EventKind::launch || kind == EventKind::graph_launch || kind == EventKind::copy ||
                    kind == EventKind::memset);
}

}  // namespace gpushim::shim
