// Memory of graphs: an allocation node's address is fixed when the node is made and stays reserved while a
// graph has the node; the allocation lives from a launch of that node until a launch of a free node, a free
// by the program, or a relaunch that frees by itself. Under engine::lock().
#pragma once

#include "graph.h"

namespace gpusim::driver::graph_memory {

CUresult read_alloc(CUDA_MEM_ALLOC_NODE_PARAMS_v2& params, Work& work, Context*& context);
CUresult read_free(CUdeviceptr address, Work& work, Context*& context);
// An allocation is freed once in a graph at most.
CUresult may_free(const Graph& graph, const FreeWork& work);

// A node that allocates came into being, went away: the address goes when nobody has it and it is not in use.
void hold(const Work& work, const Context* context);
void let_go(const Work& work);

// Relaunching while allocations of an earlier launch live is an error, unless the launch is to free them:
// then `freed` are their free operations, to be issued before the graph.
CUresult before_launch(const GraphExec& exec, std::vector<FreeWork>& freed);
// The graph's allocations live from now on, except those that it frees itself.
void launched(const Graph& graph);

// A stream or the host freed memory of a graph.
void freed(CUdeviceptr address);

}  // namespace gpusim::driver::graph_memory
