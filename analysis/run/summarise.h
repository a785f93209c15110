// A run's database as a rank summary: rows that do not grow with the calls of the run, whose sums, counts and
// histograms add up over ranks, and the names of the files that they were made of. sql/summary has its
// tables; a table's rows are those of the run's table or view of that name, so no figure is defined here. One
// thread.
#pragma once

#include <filesystem>
#include <span>

#include "../trace/inputs.h"

namespace gpushim::analysis {

constexpr int kSummarySchema = 2;

// run: the database that `analyze` made of these traces, in this order. The same run makes the same file.
// Throws Unwritable, Failure.
void summarise(const std::filesystem::path& run, std::span<const Trace> traces,
               const std::filesystem::path& place);

bool is_summary(const Database& base);

}  // namespace gpushim::analysis
