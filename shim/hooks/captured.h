// What an operation has put into the capture that its stream is in: the driver is asked, and tells which node
// that is, so nobody has to ask for it when the graph is made executable (../timing/known_nodes.h). On the
// program's thread, before the call returns.
#pragma once

#include "../calls/driver_api.h"
#include "../ring/ring_format.h"

namespace gpushim::shim {

// Marks the slot as captured where it is. `makes_node`: the call is one operation.
void look_into_capture(Slot& slot, CUstream stream, uint32_t traits_of_row, bool makes_node);

}  // namespace gpushim::shim
