// median(x) and stdev(x) for SQL: the mean of the two middle values where there are two; the standard
// deviation of a sample, 0 of a single value. NULL is left out; NULL of nothing. One thread.
#pragma once

struct sqlite3;

namespace gpushim::analysis {

void add_spread(sqlite3* base);  // throws Failure

}  // namespace gpushim::analysis
