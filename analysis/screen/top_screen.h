// Draws a run as `gpushim top` shows it: two lines about the run, a table with a row for each rank (or, where
// these have no room, a cell for each), and a line of keys. Any size from 40 columns and 6 rows on; smaller
// ones get what fits. Pure; any thread.
//
//   gpushim top  train.py  2 ranks  00:12:34  SIMULATED: these are not GPU times
//   step 4.29 ms +3 % …   rank 3 is slowest   GPU parts of 1.2 s, 4 s ago
//   RANK     STEP CHANGE  COMP  COMM  WAIT  COPY  IDLE MOST OF IT IS      OWN     MEM POWER STATE
//      0  4.29 ms   +3 %  98.4   1.0   0.0   0.3   0.4 launch_bound       0.9 12.3 GiB 310 W running
#pragma once

#include "../live/figures.h"
#include "grid.h"
#include "top_state.h"

namespace gpushim::analysis {

struct TopLook {
    bool has_marks = true;  // of how steps changed: letters that only UTF-8 has
    bool has_keys = true;   // somebody can press some
};

// state.first is moved to where there is something to be seen.
Grid draw_top(const RunNow& run, TopState& state, size_t rows, size_t columns, const TopLook& look);

// How many rows of ranks are seen at a time.
size_t page_of(size_t rows);

// The ranks that the filter leaves, in the order that was chosen: places in run.ranks.
std::vector<size_t> chosen_ranks(const RunNow& run, const TopState& state);

}  // namespace gpushim::analysis
