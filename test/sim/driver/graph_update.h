// Taking over the parameters of one graph into an executable one of the same shape: all of them or none.
// Under engine::lock().
#pragma once

#include "graph.h"

namespace gpusim::driver::graph {

// Says in `info` what is in the way; then nothing has changed.
bool update(Graph& executable, const Graph& from, CUgraphExecUpdateResultInfo& info);

}  // namespace gpusim::driver::graph
