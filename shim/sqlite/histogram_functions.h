// Histograms (histogram.h) in SQL: histogram_sum(a, b), histogram_sum(x) over rows, histogram_of(ns); NULL
// where there is none. The writer's thread.
#pragma once

#include <sqlite3.h>

namespace gpushim::shim {

int make_histogram_functions(sqlite3* base);  // SQLITE_OK, or why not

}  // namespace gpushim::shim
