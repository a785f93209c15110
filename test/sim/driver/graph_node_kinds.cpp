// The calls for nodes of one kind: each puts its parameters into the general form and hands them on
// (graph_params.h). Kernel nodes have two forms of parameters, the older without kernel and context, and a
// file of their own.
#include "graph_params.h"

namespace gpusim::driver {
namespace {

CUresult add(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
             CUgraphNodeParams params) {
    const auto held = engine::lock();
    return graph::add(node, graph, dependencies, nullptr, count, params);
}

CUresult set(CUgraphNode handle, CUgraphNodeParams params) {
    const auto held = engine::lock();
    GraphNode* node = graph_nodes().find(handle);
    return node != nullptr ? graph::set_params(*node, params) : CUDA_ERROR_INVALID_VALUE;
}

CUresult set_exec(CUgraphExec exec_handle, CUgraphNode handle, CUgraphNodeParams params) {
    const auto held = engine::lock();
    GraphExec* exec = graph_execs().find(exec_handle);
    const GraphNode* node = graph_nodes().find(handle);
    return exec != nullptr && node != nullptr ? graph::set_exec_params(*exec, *node, params)
                                              : CUDA_ERROR_INVALID_VALUE;
}

// Answers with what `part` takes out of a node's general parameters.
template <class Answer, class Part>
CUresult get(CUgraphNode handle, CUgraphNodeType type, Answer* answer, const Part& part) {
    const auto held = engine::lock();
    const GraphNode* node = graph_nodes().find(handle);
    if (node == nullptr || answer == nullptr || node->type() != type) return CUDA_ERROR_INVALID_VALUE;
    *answer = part(graph::params_of(*node));
    return CUDA_SUCCESS;
}

CUgraphNodeParams of_type(CUgraphNodeType type) {
    CUgraphNodeParams params{};
    params.type = type;
    return params;
}

CUgraphNodeParams memcpy_node(const CUDA_MEMCPY3D& copy, CUcontext context) {
    auto params = of_type(CU_GRAPH_NODE_TYPE_MEMCPY);
    params.memcpy.copyCtx = context;
    params.memcpy.copyParams = copy;
    return params;
}

CUgraphNodeParams memset_node(const CUDA_MEMSET_NODE_PARAMS& set, CUcontext context) {
    auto params = of_type(CU_GRAPH_NODE_TYPE_MEMSET);
    params.memset = {set.dst, set.pitch, set.value, set.elementSize, set.width, set.height, context};
    return params;
}

CUgraphNodeParams host_node(const CUDA_HOST_NODE_PARAMS& host) {
    auto params = of_type(CU_GRAPH_NODE_TYPE_HOST);
    params.host = {host.fn, host.userData};
    return params;
}

CUgraphNodeParams batch_node(const CUDA_BATCH_MEM_OP_NODE_PARAMS& batch) {
    auto params = of_type(CU_GRAPH_NODE_TYPE_BATCH_MEM_OP);
    params.memOp = {batch.ctx, batch.count, batch.paramArray, batch.flags};
    return params;
}

CUgraphNodeParams record_node(CUevent event) {
    auto params = of_type(CU_GRAPH_NODE_TYPE_EVENT_RECORD);
    params.eventRecord.event = event;
    return params;
}

CUgraphNodeParams wait_node(CUevent event) {
    auto params = of_type(CU_GRAPH_NODE_TYPE_WAIT_EVENT);
    params.eventWait.event = event;
    return params;
}

CUgraphNodeParams child_node(CUgraph child) {
    auto params = of_type(CU_GRAPH_NODE_TYPE_GRAPH);
    params.graph.graph = child;
    return params;
}

CUgraphNodeParams free_node(CUdeviceptr address) {
    auto params = of_type(CU_GRAPH_NODE_TYPE_MEM_FREE);
    params.free.dptr = address;
    return params;
}

// What a new parameter set of a copy or memset runs in where the call does not say: where the node runs now.
CUcontext context_of(CUgraphNode handle) {
    const auto held = engine::lock();
    const GraphNode* node = graph_nodes().find(handle);
    return node != nullptr ? reinterpret_cast<CUcontext>(node->context) : nullptr;
}

}  // namespace
}  // namespace gpusim::driver

using namespace gpusim;
using namespace gpusim::driver;

// The calls for every kind.
API(cuGraphAddNode_v2)
(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, const CUgraphEdgeData* data, size_t count,
 CUgraphNodeParams* params) {
    if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    return graph::add(node, graph, dependencies, data, count, *params);
}
API(cuGraphAddNode_v3)
(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, const CUgraphEdgeData* data, size_t count,
 CUgraphNodeParams* params) {
    return sim_cuGraphAddNode_v2(node, graph, dependencies, data, count, params);
}
API(cuGraphAddNode)
(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count, CUgraphNodeParams* params) {
    return sim_cuGraphAddNode_v2(node, graph, dependencies, nullptr, count, params);
}
API(cuGraphNodeSetParams)(CUgraphNode node, CUgraphNodeParams* params) {
    return params != nullptr ? set(node, *params) : CUDA_ERROR_INVALID_VALUE;
}
API(cuGraphNodeSetParams_v2)(CUgraphNode node, CUgraphNodeParams* params) {
    return sim_cuGraphNodeSetParams(node, params);
}
API(cuGraphExecNodeSetParams)(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams* params) {
    if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (params->type == CU_GRAPH_NODE_TYPE_GRAPH)
        return sim_cuGraphExecChildGraphNodeSetParams(exec, node, params->graph.graph);
    return set_exec(exec, node, *params);
}

// Adding.
API(cuGraphAddMemcpyNode)
(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count, const CUDA_MEMCPY3D* copy,
 CUcontext context) {
    return copy != nullptr ? add(node, graph, dependencies, count, memcpy_node(*copy, context))
                           : CUDA_ERROR_INVALID_VALUE;
}
API(cuGraphAddMemsetNode)
(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
 const CUDA_MEMSET_NODE_PARAMS* set_, CUcontext context) {
    return set_ != nullptr ? add(node, graph, dependencies, count, memset_node(*set_, context))
                           : CUDA_ERROR_INVALID_VALUE;
}
API(cuGraphAddHostNode)
(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
 const CUDA_HOST_NODE_PARAMS* host) {
    return host != nullptr ? add(node, graph, dependencies, count, host_node(*host))
                           : CUDA_ERROR_INVALID_VALUE;
}
API(cuGraphAddChildGraphNode)
(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count, CUgraph child) {
    return add(node, graph, dependencies, count, child_node(child));
}
API(cuGraphAddEmptyNode)(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count) {
    return add(node, graph, dependencies, count, of_type(CU_GRAPH_NODE_TYPE_EMPTY));
}
API(cuGraphAddEventRecordNode)
(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count, CUevent event) {
    return add(node, graph, dependencies, count, record_node(event));
}
API(cuGraphAddEventWaitNode)
(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count, CUevent event) {
    return add(node, graph, dependencies, count, wait_node(event));
}
API(cuGraphAddBatchMemOpNode)
(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
 const CUDA_BATCH_MEM_OP_NODE_PARAMS* batch) {
    return batch != nullptr ? add(node, graph, dependencies, count, batch_node(*batch))
                            : CUDA_ERROR_INVALID_VALUE;
}
API(cuGraphAddMemAllocNode)
(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
 CUDA_MEM_ALLOC_NODE_PARAMS* alloc) {
    if (alloc == nullptr) return CUDA_ERROR_INVALID_VALUE;
    auto params = of_type(CU_GRAPH_NODE_TYPE_MEM_ALLOC);
    params.alloc = {alloc->poolProps, alloc->accessDescs, alloc->accessDescCount, alloc->bytesize, 0};
    const auto held = engine::lock();
    const CUresult added = graph::add(node, graph, dependencies, nullptr, count, params);
    if (added == CUDA_SUCCESS) alloc->dptr = params.alloc.dptr;
    return added;
}
API(cuGraphAddMemFreeNode)
(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count, CUdeviceptr address) {
    return add(node, graph, dependencies, count, free_node(address));
}

// Asking.
API(cuGraphMemcpyNodeGetParams)(CUgraphNode node, CUDA_MEMCPY3D* copy) {
    return get(node, CU_GRAPH_NODE_TYPE_MEMCPY, copy, [](const auto& p) { return p.memcpy.copyParams; });
}
API(cuGraphMemsetNodeGetParams)(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS* answer) {
    return get(node, CU_GRAPH_NODE_TYPE_MEMSET, answer, [](const auto& p) {
        const auto& m = p.memset;
        return CUDA_MEMSET_NODE_PARAMS{m.dst, m.pitch, m.value, m.elementSize, m.width, m.height};
    });
}
API(cuGraphHostNodeGetParams)(CUgraphNode node, CUDA_HOST_NODE_PARAMS* answer) {
    return get(node, CU_GRAPH_NODE_TYPE_HOST, answer, [](const auto& p) {
        return CUDA_HOST_NODE_PARAMS{p.host.fn, p.host.userData};
    });
}
API(cuGraphChildGraphNodeGetGraph)(CUgraphNode node, CUgraph* child) {
    return get(node, CU_GRAPH_NODE_TYPE_GRAPH, child, [](const auto& p) { return p.graph.graph; });
}
API(cuGraphEventRecordNodeGetEvent)(CUgraphNode node, CUevent* event) {
    return get(node, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event,
               [](const auto& p) { return p.eventRecord.event; });
}
API(cuGraphEventWaitNodeGetEvent)(CUgraphNode node, CUevent* event) {
    return get(node, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event, [](const auto& p) { return p.eventWait.event; });
}
API(cuGraphBatchMemOpNodeGetParams)(CUgraphNode node, CUDA_BATCH_MEM_OP_NODE_PARAMS* answer) {
    return get(node, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, answer, [](const auto& p) {
        return CUDA_BATCH_MEM_OP_NODE_PARAMS{p.memOp.ctx, p.memOp.count, p.memOp.paramArray, p.memOp.flags};
    });
}
API(cuGraphMemAllocNodeGetParams)(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS* answer) {
    return get(node, CU_GRAPH_NODE_TYPE_MEM_ALLOC, answer, [](const auto& p) {
        return CUDA_MEM_ALLOC_NODE_PARAMS{p.alloc.poolProps, nullptr, 0, p.alloc.bytesize, p.alloc.dptr};
    });
}
API(cuGraphMemFreeNodeGetParams)(CUgraphNode node, CUdeviceptr* address) {
    return get(node, CU_GRAPH_NODE_TYPE_MEM_FREE, address, [](const auto& p) { return p.free.dptr; });
}

// Changing.
API(cuGraphMemcpyNodeSetParams)(CUgraphNode node, const CUDA_MEMCPY3D* copy) {
    return copy != nullptr ? set(node, memcpy_node(*copy, context_of(node))) : CUDA_ERROR_INVALID_VALUE;
}
API(cuGraphMemsetNodeSetParams)(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* params) {
    return params != nullptr ? set(node, memset_node(*params, context_of(node))) : CUDA_ERROR_INVALID_VALUE;
}
API(cuGraphHostNodeSetParams)(CUgraphNode node, const CUDA_HOST_NODE_PARAMS* host) {
    return host != nullptr ? set(node, host_node(*host)) : CUDA_ERROR_INVALID_VALUE;
}
API(cuGraphEventRecordNodeSetEvent)(CUgraphNode node, CUevent event) { return set(node, record_node(event)); }
API(cuGraphEventWaitNodeSetEvent)(CUgraphNode node, CUevent event) { return set(node, wait_node(event)); }
API(cuGraphBatchMemOpNodeSetParams)(CUgraphNode node, const CUDA_BATCH_MEM_OP_NODE_PARAMS* batch) {
    return batch != nullptr ? set(node, batch_node(*batch)) : CUDA_ERROR_INVALID_VALUE;
}

// Changing in an executable graph.
API(cuGraphExecMemcpyNodeSetParams)
(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D* copy, CUcontext context) {
    return copy != nullptr ? set_exec(exec, node, memcpy_node(*copy, context)) : CUDA_ERROR_INVALID_VALUE;
}
API(cuGraphExecMemsetNodeSetParams)
(CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* params, CUcontext context) {
    return params != nullptr ? set_exec(exec, node, memset_node(*params, context)) : CUDA_ERROR_INVALID_VALUE;
}
API(cuGraphExecHostNodeSetParams)(CUgraphExec exec, CUgraphNode node, const CUDA_HOST_NODE_PARAMS* host) {
    return host != nullptr ? set_exec(exec, node, host_node(*host)) : CUDA_ERROR_INVALID_VALUE;
}
API(cuGraphExecEventRecordNodeSetEvent)(CUgraphExec exec, CUgraphNode node, CUevent event) {
    return set_exec(exec, node, record_node(event));
}
API(cuGraphExecEventWaitNodeSetEvent)(CUgraphExec exec, CUgraphNode node, CUevent event) {
    return set_exec(exec, node, wait_node(event));
}
API(cuGraphExecBatchMemOpNodeSetParams)
(CUgraphExec exec, CUgraphNode node, const CUDA_BATCH_MEM_OP_NODE_PARAMS* batch) {
    return batch != nullptr ? set_exec(exec, node, batch_node(*batch)) : CUDA_ERROR_INVALID_VALUE;
}
