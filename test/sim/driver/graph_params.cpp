#include "graph_params.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "copy.h"
#include "graph_memory.h"

namespace gpusim::driver::graph {
namespace {

// The context a node names; the current one where it names none.
CUresult find_context(CUcontext handle, Context*& context) {
    context = handle != nullptr ? contexts().find(handle) : current_context();
    return context != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

// The packed form of parameter values: one buffer, in which each has its offset.
CUresult unpack(void** extra, const Function& function, std::vector<void*>& pointers) {
    std::byte* buffer = nullptr;
    size_t size_bytes = 0;
    for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
            buffer = static_cast<std::byte*>(extra[1]);
        else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE)
            size_bytes = *static_cast<const size_t*>(extra[1]);
        else
            return CUDA_ERROR_INVALID_VALUE;
    }
    for (const Parameter& parameter : function.parameters) {
        if (buffer == nullptr || parameter.offset + parameter.size > size_bytes)
            return CUDA_ERROR_INVALID_VALUE;
        pointers.push_back(buffer + parameter.offset);
    }
    return CUDA_SUCCESS;
}

CUresult keep_values(const CUDA_KERNEL_NODE_PARAMS_v3& given, KernelWork& kernel) {
    std::vector<void*> unpacked;
    kernel.parameters = given.kernelParams;
    if (given.extra != nullptr) {
        if (given.kernelParams != nullptr) return CUDA_ERROR_INVALID_VALUE;
        RETURN_IF_FAILED(unpack(given.extra, *kernel.function, unpacked));
        kernel.parameters = unpacked.data();
    }
    if (kernel.parameters == nullptr && !kernel.function->parameters.empty()) return CUDA_ERROR_INVALID_VALUE;
    kernel.keep_parameters();
    return CUDA_SUCCESS;
}

CUresult read(const CUDA_KERNEL_NODE_PARAMS_v3& given, Work& work, Context*& context) {
    RETURN_IF_FAILED(find_context(given.func == nullptr ? given.ctx : nullptr, context));
    const auto handle = given.func != nullptr ? given.func : reinterpret_cast<CUfunction>(given.kern);
    KernelWork kernel;
    kernel.function = find_function(handle, *context);
    if (kernel.function == nullptr)
        return handle == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
    context = kernel.function->module->context;
    kernel.kernel = kernels().find(handle);
    const unsigned shape[] = {given.gridDimX,  given.gridDimY,  given.gridDimZ,
                              given.blockDimX, given.blockDimY, given.blockDimZ};
    std::copy_n(shape, 3, kernel.grid);
    std::copy_n(shape + 3, 3, kernel.block);
    kernel.shared_bytes = given.sharedMemBytes;
    RETURN_IF_FAILED(check_shape(kernel));
    RETURN_IF_FAILED(keep_values(given, kernel));
    work = std::move(kernel);
    return CUDA_SUCCESS;
}

CUresult read(const CUDA_MEMCPY_NODE_PARAMS& given, Work& work, Context*& context) {
    if (given.flags != 0 || given.reserved != 0) return CUDA_ERROR_INVALID_VALUE;
    RETURN_IF_FAILED(find_context(given.copyCtx, context));
    // The two differ only in what is reserved in one of them and a context in the other.
    static_assert(sizeof(CUDA_MEMCPY3D) == sizeof(CUDA_MEMCPY3D_PEER));
    CopyWork copy{std::bit_cast<CUDA_MEMCPY3D_PEER>(given.copyParams), nullptr};
    copy.shape.srcContext = copy.shape.dstContext = reinterpret_cast<CUcontext>(context);
    Copy checked;
    RETURN_IF_FAILED(resolve(copy.shape, checked));
    work = std::move(copy);
    return CUDA_SUCCESS;
}

CUresult read(const CUDA_MEMSET_NODE_PARAMS_v2& given, Work& work, Context*& context) {
    const unsigned element = given.elementSize;
    if (element != 1 && element != 2 && element != 4) return CUDA_ERROR_INVALID_VALUE;
    const bool fits = given.height <= 1 || given.pitch >= given.width * element;
    if (given.dst == 0 || given.dst % element != 0 || given.width == 0 || given.height == 0 || !fits)
        return CUDA_ERROR_INVALID_VALUE;
    RETURN_IF_FAILED(find_context(given.ctx, context));
    work = MemsetWork{given.dst, given.pitch, given.value, element, given.width, given.height};
    return CUDA_SUCCESS;
}

CUresult read(const CUDA_HOST_NODE_PARAMS_v2& given, Work& work, Context*& context) {
    if (given.fn == nullptr) return CUDA_ERROR_INVALID_VALUE;
    RETURN_IF_FAILED(find_context(nullptr, context));
    work = HostWork{given.fn, given.userData, nullptr, nullptr};
    return CUDA_SUCCESS;
}

CUresult read(const CUDA_CHILD_GRAPH_NODE_PARAMS& given, Work& work, Context*& context) {
    Graph* child = graphs().find(given.graph);
    const bool moves = given.ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
    if (child == nullptr || (!moves && given.ownership != CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE))
        return CUDA_ERROR_INVALID_VALUE;
    const bool free_to_move = child->handle != nullptr && child->executables == 0 && child->captures == 0;
    if (moves ? !free_to_move : has_memory_nodes(*child)) return CUDA_ERROR_INVALID_VALUE;
    context = nullptr;
    work = ChildWork{moves ? std::move(child->handle) : clone(*child)};
    return CUDA_SUCCESS;
}

template <class EventWork>
CUresult read_event(CUevent handle, Work& work, Context*& context) {
    Event* event = events().find(handle);
    if (event == nullptr) return CUDA_ERROR_INVALID_VALUE;
    context = event->context;
    work = EventWork{event};
    return CUDA_SUCCESS;
}

CUresult read(const CUDA_BATCH_MEM_OP_NODE_PARAMS_v2& given, Work& work, Context*& context) {
    constexpr unsigned kMostOperations = 256;
    if (given.paramArray == nullptr || given.count == 0 || given.count > kMostOperations || given.flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    RETURN_IF_FAILED(find_context(given.ctx, context));
    work = ValueWork{{given.paramArray, given.paramArray + given.count}};
    return CUDA_SUCCESS;
}

// Where each kind's parameters end; everything behind must be zero.
size_t used_bytes(const CUgraphNodeParams& params) {
    switch (params.type) {
        case CU_GRAPH_NODE_TYPE_KERNEL:
            return sizeof params.kernel;
        case CU_GRAPH_NODE_TYPE_MEMCPY:
            return sizeof params.memcpy;
        case CU_GRAPH_NODE_TYPE_MEMSET:
            return sizeof params.memset;
        case CU_GRAPH_NODE_TYPE_HOST:
            return sizeof params.host;
        case CU_GRAPH_NODE_TYPE_GRAPH:
            return sizeof params.graph;
        case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
            return sizeof params.eventWait;
        case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
            return sizeof params.eventRecord;
        case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
            return sizeof params.alloc;
        case CU_GRAPH_NODE_TYPE_MEM_FREE:
            return sizeof params.free;
        case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
            return sizeof params.memOp;
        case CU_GRAPH_NODE_TYPE_EMPTY:
            return 0;
        default:
            return sizeof params.reserved1;
    }
}

bool rest_is_zero(const CUgraphNodeParams& params) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(&params.reserved1);
    const bool padding = std::all_of(bytes + used_bytes(params), bytes + sizeof params.reserved1,
                                     [](unsigned char byte) { return byte == 0; });
    return padding && params.reserved2 == 0 && params.reserved0[0] == 0 && params.reserved0[1] == 0 &&
           params.reserved0[2] == 0;
}

}  // namespace

CUresult read_params(CUgraphNodeParams& params, Work& work, Context*& context) {
    if (!rest_is_zero(params)) return CUDA_ERROR_INVALID_VALUE;
    switch (params.type) {
        case CU_GRAPH_NODE_TYPE_EMPTY:
            work = EmptyWork{};
            return CUDA_SUCCESS;
        case CU_GRAPH_NODE_TYPE_KERNEL:
            return read(params.kernel, work, context);
        case CU_GRAPH_NODE_TYPE_MEMCPY:
            return read(params.memcpy, work, context);
        case CU_GRAPH_NODE_TYPE_MEMSET:
            return read(params.memset, work, context);
        case CU_GRAPH_NODE_TYPE_HOST:
            return read(params.host, work, context);
        case CU_GRAPH_NODE_TYPE_GRAPH:
            return read(params.graph, work, context);
        case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
            return read_event<WaitWork>(params.eventWait.event, work, context);
        case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
            return read_event<RecordWork>(params.eventRecord.event, work, context);
        case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
            return read(params.memOp, work, context);
        case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
            return graph_memory::read_alloc(params.alloc, work, context);
        case CU_GRAPH_NODE_TYPE_MEM_FREE:
            return graph_memory::read_free(params.free.dptr, work, context);
        case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
        case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
        case CU_GRAPH_NODE_TYPE_CONDITIONAL:
            return CUDA_ERROR_NOT_SUPPORTED;
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult add(CUgraphNode* out, CUgraph graph_handle, const CUgraphNode* dependencies,
             const CUgraphEdgeData* data, size_t count, CUgraphNodeParams& params) {
    Graph* graph = graphs().find(graph_handle);
    if (graph == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::vector<Edge> edges;
    RETURN_IF_FAILED(read_edges(*graph, dependencies, data, count, edges));
    if (params.type == CU_GRAPH_NODE_TYPE_GRAPH && graphs().find(params.graph.graph) == graph &&
        params.graph.ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE)
        return CUDA_ERROR_INVALID_VALUE;
    for (const Edge& edge : edges)
        if (!is_allowed(edge.data, edge.from->type(), params.type)) return CUDA_ERROR_INVALID_VALUE;
    Work work;
    Context* context = nullptr;
    RETURN_IF_FAILED(read_params(params, work, context));
    if (const auto* free = std::get_if<FreeWork>(&work))
        RETURN_IF_FAILED(graph_memory::may_free(*graph, *free));
    *out = handle_of(add_node(*graph, std::move(work), context, std::move(edges)));
    return CUDA_SUCCESS;
}

}  // namespace gpusim::driver::graph
