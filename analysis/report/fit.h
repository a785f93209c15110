// A report that is as long as people read at once. Its last tables are details, which --all and --json have:
// they get fewer rows and then are words, the last one first; then other tables get fewer rows; then lines go
// that may, the last one first.
#pragma once

#include "section.h"

namespace gpushim::analysis {

constexpr size_t kMostLines = 60;  // what is no table and may not go may be longer by itself
constexpr size_t kMostWithoutTrouble = 45;

void fit(Report& report);

}  // namespace gpushim::analysis
