// Rows of when operations ran (launch_device, …) and of how sure that is, whatever told it. The writer's
// thread only.
#pragma once

#include <array>

#include "../rows/batch.h"
#include "../rows/observer.h"
#include "../schema/rows.h"
#include "level_errors.h"

namespace gpushim::shim {

class DeviceRows {
  public:
    // `level` as in the table level_error.
    explicit DeviceRows(const char* level);

    // `events`: how many of our events it had.
    void add(const TimedOperation& operation, const OperationTimes& times, int events);

    static constexpr size_t kTables = 5;
    std::array<Rows*, kTables> tables() {
        return {&launch_, &copy_, &memset_, &graph_launch_, &errors_.rows};
    }

  private:
    LevelErrors errors_;
    RowsOf<row::launch_device, 1> launch_;
    RowsOf<row::copy_device, 1> copy_;
    RowsOf<row::memset_device, 1> memset_;
    RowsOf<row::graph_launch_device, 1> graph_launch_;
};

// Whether that call has given a device something that can get device times.
bool runs_on_device(const Event& event);

}  // namespace gpushim::shim
