// A node's parameters in their one general form, CUgraphNodeParams, to and from Work. The calls for single
// kinds of nodes wrap theirs in it (graph_node_kinds.cpp), so each kind is read and checked in one place.
// Under engine::lock().
#pragma once

#include "graph.h"

namespace gpusim::driver::graph {

// What a node is to do and where. An allocation gets its address here, which is written back into `params`.
CUresult read_params(CUgraphNodeParams& params, Work& work, Context*& context);

// The node's parameters as a query answers them; pointers in it belong to the node.
CUgraphNodeParams params_of(const GraphNode& node);

// New parameters for a node that stays what it is.
CUresult set_params(GraphNode& node, CUgraphNodeParams& params);
// The same in an executable graph, where less may change.
CUresult set_exec_params(GraphExec& exec, const GraphNode& original, CUgraphNodeParams& params);

// What an executable graph's node may become: its own kind of work on the same devices.
CUgraphExecUpdateResult may_become(const GraphNode& node, const Work& work, const Context* context);

CUresult add(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, const CUgraphEdgeData* edges,
             size_t count, CUgraphNodeParams& params);

}  // namespace gpusim::driver::graph
