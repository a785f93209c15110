// How the GPUs of a run spent the newest time in which operations got device times: the newest window of
// each trace, by the passes that a report is made by, so the words and the rules are the report's. Of these
// the newest time is read that most ranks share, as much of it as calls allow: so a look costs the same after
// a second and after a week.
//
//   slots of 10 s   |───────────────|───────────────|──────  now
//   windows         |████|          |████|          |██      the open one has no row yet
//   read                             ███                     at most 2 s, and kMostCalls in all
//
// Traces are opened for one look and closed: a writer that ends while a reader is there leaves its log beside
// the trace. One thread.
#pragma once

#include <atomic>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "../sqlite/database.h"
#include "figures.h"

namespace gpushim::analysis {

struct WindowOfTrace {
    Interval span = {0, 0};            // on the clock of its host; empty: `why` says why
    std::map<int64_t, GpuParts> gpus;  // by device_id
    std::string why;
    std::optional<int64_t> found_step_ns;  // of steps that repeat in it, where none are marked
    int64_t found_steps = 0;
};

struct NewestWindows {
    std::map<std::filesystem::path, WindowOfTrace> of;
    std::vector<CollectiveRate> collectives;  // in the slice that the traces share, by kind and size
};

// `stop`: somebody no longer wants to know; then what is not read has no span.
NewestWindows read_newest_windows(const std::vector<std::filesystem::path>& traces,
                                  const std::atomic<bool>& stop);

// When the newest window of a trace began that has a row; none: there is none. Cheap.
std::optional<int64_t> newest_window_of(const Database& trace);

}  // namespace gpushim::analysis
