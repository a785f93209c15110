// Our events without which the figures of a step are, where they are another rank's: a rank that waits for
// the others is kept waiting by their events, too. What the rank that waits least in a step is without, all
// are.
//
//   as it ran   rank 0  |███████|~~wait~~|       the step, 5 without its own events, which do not matter
//               rank 1  |███e████e████e██|       3 shorter without them: so is the wait of rank 0
//
// One thread.
#pragma once

#include "../sql/run_db.h"

namespace gpushim::analysis {

// Of steps that are timed on all GPUs of ranks that all take part in the same collectives.
void leave_out_peers_events(RunDb& run);

}  // namespace gpushim::analysis
