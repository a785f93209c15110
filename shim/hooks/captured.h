// What an operation has put into the capture that its stream is in: the driver is asked, and tells which node
// that is, so nobody has to ask for it when the graph is made executable (../timing/known_nodes.h). On the
// program's thread, before the call returns.
//
// The driver shows its own list of nodes, which the next call on the stream may free. It is read only by a
// thread that was alone in calls on the stream, and who comes to it meanwhile waits
// (../timing/stream_callers.h). What remains: calls on the stream that nobody sees (hooks/README.md) or that
// began before the capture or the recording did; and a thread that looks whether others wait, and is then off
// its processor for 100 ms before it reads.
#pragma once

#include "../calls/driver_api.h"
#include "../ring/process_state.h"
#include "../ring/ring_format.h"

namespace gpushim::shim {

// Marks the slot as captured where it is. `makes_node`: the call is one operation.
void look_into_capture(const ThreadState& thread, Slot& slot, CUstream stream, uint32_t traits_of_row,
                       bool makes_node);

}  // namespace gpushim::shim
