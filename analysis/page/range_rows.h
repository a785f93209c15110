// The program's own ranges in a kept step (NVTX, gpushim_range) as rows of a timeline: of each thread lanes
// under each other, what is nested below what it is nested in. Names go through the report's source.
#pragma once

#include <vector>

#include "../chart/timeline_chart.h"
#include "kept_step.h"

namespace gpushim::analysis {

struct MostRanges {
    size_t threads, deep;  // drawn
};

// Of the threads that were in ranges for longest; those that begin in one thread and may end in another are
// of a thread of their own.
std::vector<TimelineRow> range_rows(const ReportSource& source, const RankInStep& rank, MostRanges most);

}  // namespace gpushim::analysis
