// Whether a file's tables are rows that somebody has written. A view in a table's place, a table that is made
// by a module or a column that is computed would let the file decide what reading it does: none of ours has
// one. What it costs to read the views that are there is bounded (work_bound.h).
#pragma once

#include "database.h"

namespace gpushim::analysis {

void require_plain_tables(const Database& base);  // throws Failure

}  // namespace gpushim::analysis
