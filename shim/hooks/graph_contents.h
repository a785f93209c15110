// What a call has put into an executable graph, told by the program's thread as soon as the call succeeded:
// the driver is asked for the nodes, past every hook, and for what each of them holds, unless the call that
// made it has told (../timing/known_nodes.h). All of it goes into the ring. Promise: questions only, none
// about what the call has not just used; no allocation from the heap; at most kMostNodes; of updates, and of
// graphs with many nodes, no more than look_budget.h allows. What could not be told to the end counts as not
// told.
//
//   graph_content  graph_nodes …  graph_content      names of functions in between (function_names.h)
//   graph_content                                    an update that was not looked at
#pragma once

#include "../ring/recorder.h"

namespace gpushim::shim {

constexpr size_t kMostNodes = 65'536;

// Does nothing where the call changed no contents as a whole.
[[gnu::noinline]] void tell_contents(ThreadState& thread, const event::born& exec);
[[gnu::noinline]] void tell_contents(ThreadState& thread, const event::graph& update);

}  // namespace gpushim::shim
