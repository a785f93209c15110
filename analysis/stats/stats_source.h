// The run's operations, calls and ranges as plain tables of one database, for the reports' SQL:
//
//   operation(trace, pid, tid, thread_id, kind, name, api, enter_ns, exit_ns, start_ns, dur_ns, bytes,
//     blocking, source, target, grid_x … block_z, shared_bytes, device, device_id, context_id, stream)
//       kind: kernel, copy, memset, graph. Times since the run began; start_ns and dur_ns are the device's,
//       NULL where it was not timed. enter_ns, exit_ns: the call.
//   call(api, calls, dur_ns)
//   wait(trace, pid, tid, api, start_ns, dur_ns): calls that return when the GPU has done its work
//   thread_range(trace, thread_id, kind, name, start_ns, end_ns, depth, children)
//       of kind thread: in how many others it lies, and how many lie right in it; whatever their domains
//
// Only what ran is in them: nothing that failed, was captured, or had not returned.
#pragma once

#include <string>
#include <vector>

#include "../sqlite/database.h"
#include "stats_report.h"

namespace gpushim::analysis {

// base: of unite(). Each table is made once.
class StatsSource {
  public:
    explicit StatsSource(Database base);

    const Database& with(Wants wants);
    // What the tables of the reports that were asked for leave out. Sentences for people.
    std::vector<std::string> left_out() const;

  private:
    void add_operations();
    void add_calls();
    void add_ranges();
    void add_waits();
    std::string operations_left_out() const;
    std::string graphs_left_out() const;
    std::string calls_left_out() const;

    Database base_;
    bool has_operations_ = false;
    bool has_calls_ = false;
    bool has_ranges_ = false;
    bool has_waits_ = false;
};

}  // namespace gpushim::analysis
