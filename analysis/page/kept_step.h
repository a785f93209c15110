// What a run's database has kept of single calls (analysis/run/parts/kept_part), as rows of a timeline. Names
// go through the report's source, so they are redacted where that is asked.
#pragma once

#include <string>
#include <vector>

#include "../chart/timeline_chart.h"
#include "../report/source.h"

namespace gpushim::analysis {

struct KeptStep {
    int64_t rank_id, step, number, begin_ns, dur_ns, left_out;
    std::string rank;  // "rank 3"
    std::string why;   // typical, worst
};

// Of the rank with the longest kept step: typical first. Empty: the run has kept none.
std::vector<KeptStep> kept_steps(const ReportSource& source);

std::vector<LegendEntry> timeline_colours();
// By device and stream, those with most to do first, at most ten.
std::vector<TimelineRow> stream_rows(const ReportSource& source, const KeptStep& step);
// Of each GPU: of each cause the longest span in which it was idle.
std::vector<TimelineRow> idle_rows(const ReportSource& source, const KeptStep& step);
// Calls by thread, at most four.
std::vector<TimelineRow> thread_rows(const ReportSource& source, const KeptStep& step);

}  // namespace gpushim::analysis
