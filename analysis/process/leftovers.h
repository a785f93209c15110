// What processes of this user that were killed, or ended by `_exit`, have left in tmpfs goes into their
// traces whenever somebody uses this program. GPUSHIM_RECOVER=own leaves it alone.
#pragma once

namespace gpushim::analysis {

// For a moment at most: what there is no time for waits for the next command. Silent.
void take_in_leftovers();

}  // namespace gpushim::analysis
