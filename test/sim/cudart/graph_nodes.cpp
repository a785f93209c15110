// Nodes whose parameters the runtime and the driver describe differently: kernels, copies, fills, and the
// node of any type, which may be one of them.
#include <cstring>

#include "cudart/boundary.h"
#include "cudart/copy_shape.h"
#include "cudart/registry.h"
#include "cudart/symbol.h"

namespace cudart {
namespace {

// Runs use(context) with the context that the driver wants named in a copy or fill node.
template <class Use>
cudaError_t in_current_context(Use use) {
    CUcontext context = nullptr;
    const cudaError_t error = DRIVER(cuCtxGetCurrent)(&context);
    return error == cudaSuccess ? use(context) : error;
}

template <class Runtime, class Driver>
cudaError_t describe_kernel(const Runtime& runtime, Driver& driver) {
    driver = {};
    driver.gridDimX = runtime.gridDim.x;
    driver.gridDimY = runtime.gridDim.y;
    driver.gridDimZ = runtime.gridDim.z;
    driver.blockDimX = runtime.blockDim.x;
    driver.blockDimY = runtime.blockDim.y;
    driver.blockDimZ = runtime.blockDim.z;
    driver.sharedMemBytes = runtime.sharedMemBytes;
    driver.kernelParams = runtime.kernelParams;
    driver.extra = runtime.extra;
    return find_kernel(runtime.func, driver.kern);
}

// Describes the kernel for the driver and calls use(description).
template <class Use>
cudaError_t with_kernel(const cudaKernelNodeParams* runtime, Use use) {
    CUDA_KERNEL_NODE_PARAMS_v2 driver;
    const cudaError_t error = runtime == nullptr ? cudaErrorInvalidValue : describe_kernel(*runtime, driver);
    return error == cudaSuccess ? use(&driver) : error;
}

cudaError_t add_kernel(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                       std::size_t count, const cudaKernelNodeParams* kernel) {
    return with_kernel(kernel, [=](const auto* driver) {
        return DRIVER(cuGraphAddKernelNode_v2)(node, graph, after, count, driver);
    });
}

cudaError_t set_kernel(cudaGraphNode_t node, const cudaKernelNodeParams* kernel) {
    return with_kernel(
        kernel, [=](const auto* driver) { return DRIVER(cuGraphKernelNodeSetParams_v2)(node, driver); });
}

cudaError_t set_kernel_of_exec(cudaGraphExec_t executable, cudaGraphNode_t node,
                               const cudaKernelNodeParams* kernel) {
    return with_kernel(kernel, [=](const auto* driver) {
        return DRIVER(cuGraphExecKernelNodeSetParams_v2)(executable, node, driver);
    });
}

cudaError_t kernel_of_node(cudaGraphNode_t node, cudaKernelNodeParams* kernel) {
    if (kernel == nullptr) return cudaErrorInvalidValue;
    CUDA_KERNEL_NODE_PARAMS_v2 driver{};
    const cudaError_t error = DRIVER(cuGraphKernelNodeGetParams_v2)(node, &driver);
    if (error != cudaSuccess) return error;
    kernel->func = driver.kern != nullptr ? host_function(driver.kern) : driver.func;
    kernel->gridDim = dim3(driver.gridDimX, driver.gridDimY, driver.gridDimZ);
    kernel->blockDim = dim3(driver.blockDimX, driver.blockDimY, driver.blockDimZ);
    kernel->sharedMemBytes = driver.sharedMemBytes;
    kernel->kernelParams = driver.kernelParams;
    kernel->extra = driver.extra;
    return cudaSuccess;
}

// Describes the copy for the driver and calls use(description, context).
template <class Use>
cudaError_t with_copy(const cudaMemcpy3DParms* runtime, Use use) {
    CUDA_MEMCPY3D shape;
    const cudaError_t error = runtime == nullptr ? cudaErrorInvalidValue : describe_3d(*runtime, shape);
    if (error != cudaSuccess) return error;
    return in_current_context([&](CUcontext context) { return use(&shape, context); });
}

cudaError_t add_copy(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                     std::size_t count, const cudaMemcpy3DParms* copy) {
    return with_copy(copy, [=](const auto* shape, CUcontext context) {
        return DRIVER(cuGraphAddMemcpyNode)(node, graph, after, count, shape, context);
    });
}

cudaError_t set_copy(cudaGraphNode_t node, const cudaMemcpy3DParms* copy) {
    return with_copy(
        copy, [=](const auto* shape, CUcontext) { return DRIVER(cuGraphMemcpyNodeSetParams)(node, shape); });
}

cudaError_t set_copy_of_exec(cudaGraphExec_t executable, cudaGraphNode_t node,
                             const cudaMemcpy3DParms* copy) {
    return with_copy(copy, [=](const auto* shape, CUcontext context) {
        return DRIVER(cuGraphExecMemcpyNodeSetParams)(executable, node, shape, context);
    });
}

cudaError_t get_copy(cudaGraphNode_t node, cudaMemcpy3DParms* copy) {
    CUDA_MEMCPY3D shape{};
    const cudaError_t error =
        copy == nullptr ? cudaErrorInvalidValue : DRIVER(cuGraphMemcpyNodeGetParams)(node, &shape);
    if (error == cudaSuccess) *copy = runtime_3d(shape);
    return error;
}

cudaError_t add_row(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, std::size_t count,
                    void* target, const void* source, std::size_t size_bytes, cudaMemcpyKind kind) {
    const cudaMemcpy3DParms row = one_row(target, source, size_bytes, kind);
    return add_copy(node, graph, after, count, &row);
}

cudaError_t set_row(cudaGraphNode_t node, void* target, const void* source, std::size_t size_bytes,
                    cudaMemcpyKind kind) {
    const cudaMemcpy3DParms row = one_row(target, source, size_bytes, kind);
    return set_copy(node, &row);
}

cudaError_t set_row_of_exec(cudaGraphExec_t executable, cudaGraphNode_t node, void* target,
                            const void* source, std::size_t size_bytes, cudaMemcpyKind kind) {
    const cudaMemcpy3DParms row = one_row(target, source, size_bytes, kind);
    return set_copy_of_exec(executable, node, &row);
}

cudaError_t add_row_to_symbol(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                              std::size_t count, const void* symbol, const void* source,
                              std::size_t size_bytes, std::size_t offset, cudaMemcpyKind kind) {
    void* target = nullptr;
    const cudaError_t error = find_in_variable(symbol, offset, size_bytes, target);
    return error == cudaSuccess ? add_row(node, graph, after, count, target, source, size_bytes, kind)
                                : error;
}

cudaError_t add_row_from_symbol(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                std::size_t count, void* target, const void* symbol, std::size_t size_bytes,
                                std::size_t offset, cudaMemcpyKind kind) {
    void* source = nullptr;
    const cudaError_t error = find_in_variable(symbol, offset, size_bytes, source);
    return error == cudaSuccess ? add_row(node, graph, after, count, target, source, size_bytes, kind)
                                : error;
}

// The driver's description of a fill is the runtime's, member for member.
const CUDA_MEMSET_NODE_PARAMS* driver_fill(const cudaMemsetParams* fill) {
    static_assert(sizeof(CUDA_MEMSET_NODE_PARAMS) == sizeof(cudaMemsetParams));
    return reinterpret_cast<const CUDA_MEMSET_NODE_PARAMS*>(fill);
}

cudaError_t add_fill(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                     std::size_t count, const cudaMemsetParams* fill) {
    return in_current_context([=](CUcontext context) {
        return DRIVER(cuGraphAddMemsetNode)(node, graph, after, count, driver_fill(fill), context);
    });
}

cudaError_t set_fill_of_exec(cudaGraphExec_t executable, cudaGraphNode_t node, const cudaMemsetParams* fill) {
    return in_current_context([=](CUcontext context) {
        return DRIVER(cuGraphExecMemsetNodeSetParams)(executable, node, driver_fill(fill), context);
    });
}

cudaError_t describe_special(const cudaGraphNodeParams& runtime, CUgraphNodeParams& driver,
                             CUcontext context) {
    switch (runtime.type) {
        case cudaGraphNodeTypeKernel:
            return describe_kernel(runtime.kernel, driver.kernel);
        case cudaGraphNodeTypeMemset:
            driver.memset.ctx = context;
            return cudaSuccess;
        case cudaGraphNodeTypeMemcpy:
            driver.memcpy.flags = runtime.memcpy.flags;
            driver.memcpy.reserved = 0;
            driver.memcpy.copyCtx = context;
            return describe_3d(runtime.memcpy.copyParams, driver.memcpy.copyParams);
        default:
            return cudaSuccess;
    }
}

// Calls use(description); what the driver wrote into it (the address of an allocation) goes back to the
// caller.
template <class Use>
cudaError_t with_any(cudaGraphNodeParams* runtime, Use use) {
    static_assert(sizeof(CUgraphNodeParams) == sizeof(cudaGraphNodeParams));
    if (runtime == nullptr) return cudaErrorInvalidValue;
    return in_current_context([&](CUcontext context) {
        auto driver = std::bit_cast<CUgraphNodeParams>(*runtime);
        cudaError_t error = describe_special(*runtime, driver, context);
        if (error == cudaSuccess) error = use(&driver);
        if (runtime->type == cudaGraphNodeTypeMemAlloc) *runtime = std::bit_cast<cudaGraphNodeParams>(driver);
        return error;
    });
}

cudaError_t add_any(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                    const cudaGraphEdgeData* edges, std::size_t count, cudaGraphNodeParams* params) {
    return with_any(params, [=](CUgraphNodeParams* driver) {
        return DRIVER(cuGraphAddNode_v2)(node, graph, after, convert<const CUgraphEdgeData*>(edges), count,
                                         driver);
    });
}

cudaError_t set_any(cudaGraphNode_t node, cudaGraphNodeParams* params) {
    return with_any(params,
                    [=](CUgraphNodeParams* driver) { return DRIVER(cuGraphNodeSetParams)(node, driver); });
}

cudaError_t set_any_of_exec(cudaGraphExec_t executable, cudaGraphNode_t node, cudaGraphNodeParams* params) {
    return with_any(params, [=](CUgraphNodeParams* driver) {
        return DRIVER(cuGraphExecNodeSetParams)(executable, node, driver);
    });
}

}  // namespace
}  // namespace cudart

using namespace cudart;

EXPORT_RUNTIME(cudaGraphAddKernelNode, context, add_kernel)
EXPORT_RUNTIME(cudaGraphKernelNodeGetParams, context, kernel_of_node)
EXPORT_RUNTIME(cudaGraphKernelNodeSetParams, context, set_kernel)
EXPORT_RUNTIME(cudaGraphExecKernelNodeSetParams, context, set_kernel_of_exec)
EXPORT_RUNTIME(cudaGraphAddMemcpyNode, context, add_copy)
EXPORT_RUNTIME(cudaGraphMemcpyNodeGetParams, context, get_copy)
EXPORT_RUNTIME(cudaGraphMemcpyNodeSetParams, context, set_copy)
EXPORT_RUNTIME(cudaGraphExecMemcpyNodeSetParams, context, set_copy_of_exec)
EXPORT_RUNTIME(cudaGraphAddMemcpyNode1D, context, add_row)
EXPORT_RUNTIME(cudaGraphMemcpyNodeSetParams1D, context, set_row)
EXPORT_RUNTIME(cudaGraphExecMemcpyNodeSetParams1D, context, set_row_of_exec)
EXPORT_RUNTIME(cudaGraphAddMemcpyNodeToSymbol, context, add_row_to_symbol)
EXPORT_RUNTIME(cudaGraphAddMemcpyNodeFromSymbol, context, add_row_from_symbol)
EXPORT_RUNTIME(cudaGraphAddMemsetNode, context, add_fill)
FORWARD(cudaGraphMemsetNodeGetParams, cuGraphMemsetNodeGetParams)
FORWARD(cudaGraphMemsetNodeSetParams, cuGraphMemsetNodeSetParams)
EXPORT_RUNTIME(cudaGraphExecMemsetNodeSetParams, context, set_fill_of_exec)
EXPORT_RUNTIME(cudaGraphAddNode, context, add_any)
EXPORT_RUNTIME(cudaGraphNodeSetParams, context, set_any)
EXPORT_RUNTIME(cudaGraphExecNodeSetParams, context, set_any_of_exec)
