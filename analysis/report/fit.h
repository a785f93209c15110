// A report that is as long as people read at once. Its last tables are details, which --all and --json have:
// they get fewer rows and then are words, the last one first; then other tables get fewer rows.
#pragma once

#include "section.h"

namespace gpushim::analysis {

constexpr size_t kMostLines = 60;  // what is no table may be longer by itself

void fit(Report& report);

}  // namespace gpushim::analysis
