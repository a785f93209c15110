// What a run has kept of one rank's step, as rows of a timeline. Names go through the report's source, so
// they are redacted where that is asked.
#pragma once

#include <vector>

#include "../chart/timeline_chart.h"
#include "kept_step.h"
#include "kernel_names.h"

namespace gpushim::analysis {

// By device and stream, those with most to do first; with what the steps before left running.
std::vector<TimelineRow> stream_rows(const ReportSource& source, const KernelNames& names,
                                     const RankInStep& rank, size_t most);
// Of each GPU: of each cause the longest span in which it was idle.
std::vector<TimelineRow> idle_rows(const ReportSource& source, const RankInStep& rank, size_t most);
// Calls by thread, those with most to do first.
std::vector<TimelineRow> thread_rows(const ReportSource& source, const KernelNames& names,
                                     const RankInStep& rank, size_t most);

}  // namespace gpushim::analysis
