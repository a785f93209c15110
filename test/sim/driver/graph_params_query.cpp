// The other direction of graph_params.cpp, Work to parameters; and what may become of a node that exists.
#include <bit>

#include "graph_params.h"
#include "memory.h"

namespace gpusim::driver::graph {
namespace {

void write(const EmptyWork&, const GraphNode&, CUgraphNodeParams&) {}

void write(const KernelWork& work, const GraphNode& node, CUgraphNodeParams& params) {
    auto& kernel = params.kernel;
    if (work.kernel != nullptr)
        kernel.kern = reinterpret_cast<CUkernel>(work.kernel);
    else
        kernel.func = reinterpret_cast<CUfunction>(work.function);
    kernel.ctx = reinterpret_cast<CUcontext>(node.context);
    kernel.gridDimX = work.grid[0];
    kernel.gridDimY = work.grid[1];
    kernel.gridDimZ = work.grid[2];
    kernel.blockDimX = work.block[0];
    kernel.blockDimY = work.block[1];
    kernel.blockDimZ = work.block[2];
    kernel.sharedMemBytes = work.shared_bytes;
    kernel.kernelParams = work.parameters;
}

void write(const CopyWork& work, const GraphNode& node, CUgraphNodeParams& params) {
    params.memcpy.copyCtx = reinterpret_cast<CUcontext>(node.context);
    params.memcpy.copyParams = std::bit_cast<CUDA_MEMCPY3D>(work.shape);
    params.memcpy.copyParams.reserved0 = params.memcpy.copyParams.reserved1 = nullptr;
}

void write(const MemsetWork& work, const GraphNode& node, CUgraphNodeParams& params) {
    params.memset = {work.target,
                     work.pitch,
                     work.value,
                     work.element_bytes,
                     work.width,
                     work.height,
                     reinterpret_cast<CUcontext>(node.context)};
}

void write(const HostWork& work, const GraphNode&, CUgraphNodeParams& params) {
    params.host = {work.function, work.data};
}

void write(const RecordWork& work, const GraphNode&, CUgraphNodeParams& params) {
    params.eventRecord.event = reinterpret_cast<CUevent>(work.event);
}

void write(const WaitWork& work, const GraphNode&, CUgraphNodeParams& params) {
    params.eventWait.event = reinterpret_cast<CUevent>(work.event);
}

void write(const ValueWork& work, const GraphNode& node, CUgraphNodeParams& params) {
    // The form without const is the API's; the array belongs to the node.
    auto* operations = const_cast<CUstreamBatchMemOpParams*>(work.operations.data());
    params.memOp = {reinterpret_cast<CUcontext>(node.context), static_cast<unsigned>(work.operations.size()),
                    operations, 0};
}

void write(const AllocWork& work, const GraphNode&, CUgraphNodeParams& params) {
    params.alloc.poolProps = work.asked.poolProps;
    params.alloc.bytesize = work.bytes;
    params.alloc.dptr = work.address;
}

void write(const FreeWork& work, const GraphNode&, CUgraphNodeParams& params) {
    params.free.dptr = work.address;
}

void write(const ChildWork& work, const GraphNode&, CUgraphNodeParams& params) {
    params.graph.graph = handle_of(work.graph.get());
}

// Where memory lives; hosts count as no device.
int device_of(CUdeviceptr address) {
    const MemoryRange* range = find_range(static_cast<uintptr_t>(address));
    return range != nullptr && range->kind == MemoryKind::device ? range->device : -1;
}

bool is_flat(const CUDA_MEMCPY3D_PEER& shape) { return shape.Height <= 1 && shape.Depth <= 1; }

CUgraphExecUpdateResult compare(const KernelWork& old, const KernelWork& work) {
    if (old.function->module->context != work.function->module->context)
        return CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE;
    return old.cooperative == work.cooperative ? CU_GRAPH_EXEC_UPDATE_SUCCESS
                                               : CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED;
}

CUgraphExecUpdateResult compare(const CopyWork& old, const CopyWork& work) {
    const auto &a = old.shape, &b = work.shape;
    const bool same = a.srcMemoryType == b.srcMemoryType && a.dstMemoryType == b.dstMemoryType &&
                      device_of(a.srcDevice) == device_of(b.srcDevice) &&
                      device_of(a.dstDevice) == device_of(b.dstDevice) && is_flat(a) == is_flat(b);
    return same ? CU_GRAPH_EXEC_UPDATE_SUCCESS : CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
}

CUgraphExecUpdateResult compare(const MemsetWork& old, const MemsetWork& work) {
    const bool flat = old.height == 1 && work.height == 1;
    const bool same_shape = old.width == work.width && old.height == work.height && old.pitch == work.pitch &&
                            old.element_bytes == work.element_bytes;
    return device_of(old.target) == device_of(work.target) && (flat || same_shape)
               ? CU_GRAPH_EXEC_UPDATE_SUCCESS
               : CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
}

CUgraphExecUpdateResult compare(const AllocWork& old, const AllocWork& work) {
    return old.address == work.address ? CU_GRAPH_EXEC_UPDATE_SUCCESS
                                       : CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED;
}

CUgraphExecUpdateResult compare(const FreeWork& old, const FreeWork& work) {
    return old.address == work.address ? CU_GRAPH_EXEC_UPDATE_SUCCESS
                                       : CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED;
}

CUgraphExecUpdateResult compare(const ValueWork& old, const ValueWork& work) {
    return old.operations.size() == work.operations.size() ? CU_GRAPH_EXEC_UPDATE_SUCCESS
                                                           : CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
}

template <class Kind>
CUgraphExecUpdateResult compare(const Kind&, const Kind&) {
    return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

// Of these, new parameters would be another allocation.
bool is_fixed(const Work& work) {
    return std::holds_alternative<AllocWork>(work) || std::holds_alternative<FreeWork>(work) ||
           std::holds_alternative<EmptyWork>(work);
}

void keep_attributes(const Work& old, Work& work) {
    auto* now = std::get_if<KernelWork>(&work);
    if (now == nullptr) return;
    now->attributes = std::get<KernelWork>(old).attributes;
    now->cooperative = std::get<KernelWork>(old).cooperative;
}

}  // namespace

CUgraphNodeParams params_of(const GraphNode& node) {
    CUgraphNodeParams params{};
    params.type = node.type();
    std::visit([&](const auto& work) { write(work, node, params); }, node.work);
    return params;
}

CUresult set_params(GraphNode& node, CUgraphNodeParams& params) {
    if (params.type != node.type() || is_fixed(node.work) || std::holds_alternative<ChildWork>(node.work))
        return CUDA_ERROR_INVALID_VALUE;
    Work work;
    Context* context = node.context;
    RETURN_IF_FAILED(read_params(params, work, context));
    keep_attributes(node.work, work);
    node.work = std::move(work);
    node.context = context;
    return CUDA_SUCCESS;
}

CUgraphExecUpdateResult may_become(const GraphNode& node, const Work& work, const Context* context) {
    if (node.work.index() != work.index()) return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
    const bool events = std::holds_alternative<RecordWork>(work) || std::holds_alternative<WaitWork>(work);
    if (!events && node.context != context && !std::holds_alternative<KernelWork>(work))
        return CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
    return std::visit(
        [&work](const auto& old) { return compare(old, std::get<std::decay_t<decltype(old)>>(work)); },
        node.work);
}

CUresult set_exec_params(GraphExec& exec, const GraphNode& original, CUgraphNodeParams& params) {
    const auto found = exec.by_origin.find(original.id);
    if (found == exec.by_origin.end()) return CUDA_ERROR_INVALID_VALUE;
    GraphNode& node = *found->second;
    if (params.type != node.type() || is_fixed(node.work)) return CUDA_ERROR_INVALID_VALUE;
    Work work;
    Context* context = node.context;
    RETURN_IF_FAILED(read_params(params, work, context));
    keep_attributes(node.work, work);
    const auto* copy = std::get_if<CopyWork>(&work);
    if (copy != nullptr && !is_flat(copy->shape)) return CUDA_ERROR_INVALID_VALUE;
    if (may_become(node, work, context) != CU_GRAPH_EXEC_UPDATE_SUCCESS) return CUDA_ERROR_INVALID_VALUE;
    node.work = std::move(work);
    node.context = context;
    return CUDA_SUCCESS;
}

}  // namespace gpusim::driver::graph
