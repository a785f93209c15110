// All traces of a run as one database: each table and view of theirs is a table here whose rows are those of
// all traces, with `trace` (row of the table `traces`) and, where the table has no such column itself,
// `rank`. Any number of files. Conditions on columns go down into each trace, so that a span of time is read
// by its index.
#pragma once

#include <span>

#include "inputs.h"

namespace gpushim::analysis {

// The traces must outlive the database.
Database unite(std::span<const Trace> traces);

}  // namespace gpushim::analysis
