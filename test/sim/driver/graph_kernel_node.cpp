// Kernel nodes: their two forms of parameters, and their attributes.
#include <algorithm>

#include "graph_params.h"

namespace gpusim::driver {
namespace {

constexpr CUkernelNodeAttrID kAttributes[] = {CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW,
                                              CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
                                              CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                              CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
                                              CU_LAUNCH_ATTRIBUTE_PRIORITY,
                                              CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP,
                                              CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN,
                                              CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION,
                                              CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                                              CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING};

bool is_attribute(CUkernelNodeAttrID id) {
    return std::find(std::begin(kAttributes), std::end(kAttributes), id) != std::end(kAttributes);
}

KernelWork* kernel_of(CUgraphNode handle) {
    GraphNode* node = graph_nodes().find(handle);
    return node != nullptr ? std::get_if<KernelWork>(&node->work) : nullptr;
}

CUgraphNodeParams widen(const CUDA_KERNEL_NODE_PARAMS_v2& given) {
    CUgraphNodeParams params{};
    params.type = CU_GRAPH_NODE_TYPE_KERNEL;
    params.kernel = {given.func,         given.gridDimX,  given.gridDimY,  given.gridDimZ,
                     given.blockDimX,    given.blockDimY, given.blockDimZ, given.sharedMemBytes,
                     given.kernelParams, given.extra,     given.kern,      given.ctx};
    return params;
}

CUgraphNodeParams widen(const CUDA_KERNEL_NODE_PARAMS_v1& given) {
    return widen(CUDA_KERNEL_NODE_PARAMS_v2{
        given.func, given.gridDimX, given.gridDimY, given.gridDimZ, given.blockDimX, given.blockDimY,
        given.blockDimZ, given.sharedMemBytes, given.kernelParams, given.extra, nullptr, nullptr});
}

void narrow(const CUgraphNodeParams& params, const KernelWork&, CUDA_KERNEL_NODE_PARAMS_v2& answer) {
    const auto& k = params.kernel;
    answer = {k.func,      k.gridDimX,       k.gridDimY,     k.gridDimZ, k.blockDimX, k.blockDimY,
              k.blockDimZ, k.sharedMemBytes, k.kernelParams, k.extra,    k.kern,      k.ctx};
}

// The older form has no room for a kernel: it tells the function that the kernel is in the node's context.
void narrow(const CUgraphNodeParams& params, const KernelWork& work, CUDA_KERNEL_NODE_PARAMS_v1& answer) {
    const auto& k = params.kernel;
    answer = {reinterpret_cast<CUfunction>(work.function),
              k.gridDimX,
              k.gridDimY,
              k.gridDimZ,
              k.blockDimX,
              k.blockDimY,
              k.blockDimZ,
              k.sharedMemBytes,
              k.kernelParams,
              k.extra};
}

template <class Params>
CUresult add(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
             const Params* given) {
    if (given == nullptr) return CUDA_ERROR_INVALID_VALUE;
    auto params = widen(*given);
    const auto held = engine::lock();
    return graph::add(node, graph, dependencies, nullptr, count, params);
}

template <class Params>
CUresult get(CUgraphNode handle, Params* answer) {
    const auto held = engine::lock();
    const KernelWork* work = kernel_of(handle);
    if (work == nullptr || answer == nullptr) return CUDA_ERROR_INVALID_VALUE;
    narrow(graph::params_of(*graph_nodes().find(handle)), *work, *answer);
    return CUDA_SUCCESS;
}

template <class Params>
CUresult set(CUgraphNode handle, const Params* given) {
    const auto held = engine::lock();
    if (kernel_of(handle) == nullptr || given == nullptr) return CUDA_ERROR_INVALID_VALUE;
    auto params = widen(*given);
    return graph::set_params(*graph_nodes().find(handle), params);
}

template <class Params>
CUresult set_exec(CUgraphExec exec_handle, CUgraphNode handle, const Params* given) {
    const auto held = engine::lock();
    GraphExec* exec = graph_execs().find(exec_handle);
    if (exec == nullptr || kernel_of(handle) == nullptr || given == nullptr) return CUDA_ERROR_INVALID_VALUE;
    auto params = widen(*given);
    return graph::set_exec_params(*exec, *graph_nodes().find(handle), params);
}

CUlaunchAttribute* find_attribute(KernelWork& work, CUkernelNodeAttrID id) {
    const auto found = std::find_if(work.attributes.begin(), work.attributes.end(),
                                    [id](const CUlaunchAttribute& attribute) { return attribute.id == id; });
    return found != work.attributes.end() ? &*found : nullptr;
}

}  // namespace
}  // namespace gpusim::driver

using namespace gpusim;
using namespace gpusim::driver;

API(cuGraphAddKernelNode)
(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
 const CUDA_KERNEL_NODE_PARAMS_v1* params) {
    return add(node, graph, dependencies, count, params);
}
API(cuGraphAddKernelNode_v2)
(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
 const CUDA_KERNEL_NODE_PARAMS* params) {
    return add(node, graph, dependencies, count, params);
}

API(cuGraphKernelNodeGetParams)(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1* params) {
    return get(node, params);
}
API(cuGraphKernelNodeGetParams_v2)(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* params) {
    return get(node, params);
}

API(cuGraphKernelNodeSetParams)(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1* params) {
    return set(node, params);
}
API(cuGraphKernelNodeSetParams_v2)(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* params) {
    return set(node, params);
}

API(cuGraphExecKernelNodeSetParams)
(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1* params) {
    return set_exec(exec, node, params);
}
API(cuGraphExecKernelNodeSetParams_v2)
(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* params) {
    return set_exec(exec, node, params);
}

API(cuGraphKernelNodeGetAttribute)(CUgraphNode node, CUkernelNodeAttrID id, CUkernelNodeAttrValue* value) {
    const auto held = engine::lock();
    KernelWork* work = kernel_of(node);
    if (work == nullptr || value == nullptr || !is_attribute(id)) return CUDA_ERROR_INVALID_VALUE;
    const CUlaunchAttribute* known = find_attribute(*work, id);
    *value = known != nullptr ? known->value : CUkernelNodeAttrValue{};
    if (id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) value->cooperative = work->cooperative ? 1 : 0;
    return CUDA_SUCCESS;
}

API(cuGraphKernelNodeSetAttribute)
(CUgraphNode node, CUkernelNodeAttrID id, const CUkernelNodeAttrValue* value) {
    const auto held = engine::lock();
    KernelWork* work = kernel_of(node);
    if (work == nullptr || value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (id == CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE) return CUDA_ERROR_NOT_SUPPORTED;
    if (!is_attribute(id)) return CUDA_ERROR_INVALID_VALUE;
    CUlaunchAttribute* known = find_attribute(*work, id);
    if (known == nullptr) known = &work->attributes.emplace_back();
    known->id = id;
    known->value = *value;
    if (id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) work->cooperative = value->cooperative != 0;
    return CUDA_SUCCESS;
}

API(cuGraphKernelNodeCopyAttributes)(CUgraphNode target, CUgraphNode source) {
    const auto held = engine::lock();
    KernelWork* to = kernel_of(target);
    const KernelWork* from = kernel_of(source);
    if (to == nullptr || from == nullptr) return CUDA_ERROR_INVALID_VALUE;
    to->attributes = from->attributes;
    to->cooperative = from->cooperative;
    return CUDA_SUCCESS;
}
