// Executable graphs: made, launched, switched node by node, destroyed.
#include <algorithm>

#include "capture.h"
#include "engine/host_function.h"
#include "engine/knobs.h"
#include "entry.h"
#include "graph_memory.h"

namespace gpusim::driver {
namespace {

constexpr cuuint64_t kKnownFlags =
    CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
    CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;

void index(GraphExec& exec, const Graph& graph) {
    for (GraphNode* node : graph.nodes) {
        exec.by_origin[node->origin] = node;
        if (const auto* child = std::get_if<ChildWork>(&node->work)) index(exec, *child->graph);
    }
}

// Whether the graph's end means anything to others: destructors to be called, memory to be given back.
bool is_minded(const Graph& graph) {
    return !graph.user_objects.empty() || graph::has_memory_nodes(graph) ||
           std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const GraphNode* node) {
               const auto* child = std::get_if<ChildWork>(&node->work);
               return child != nullptr && is_minded(*child->graph);
           });
}

void drop_after(Point end, std::shared_ptr<Graph> graph) {
    Operation op;
    op.silent = true;
    op.behaviour = host_function([graph = std::move(graph)]() mutable {
        const auto held = engine::lock();
        graph.reset();
    });
    engine::issue(std::move(op), {&end});
}

CUresult check(const Graph& source, cuuint64_t flags) {
    const bool device_launch = (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0;
    const bool auto_free = (flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) != 0;
    if ((flags & ~kKnownFlags) != 0 || (device_launch && auto_free)) return CUDA_ERROR_INVALID_VALUE;
    if (device_launch) return CUDA_ERROR_NOT_SUPPORTED;
    if (source.captures != 0) return CUDA_ERROR_ILLEGAL_STATE;
    return source.executables != 0 && graph::has_memory_nodes(source) ? CUDA_ERROR_INVALID_VALUE
                                                                      : CUDA_SUCCESS;
}

// The node of the program's graph that a clone's node stands for.
GraphNode* original_of(const Graph& source, const GraphNode* twin) {
    for (GraphNode* node : source.nodes) {
        if (node->id == twin->origin) return node;
        const auto* child = std::get_if<ChildWork>(&node->work);
        if (GraphNode* inside = child != nullptr ? original_of(*child->graph, twin) : nullptr;
            inside != nullptr)
            return inside;
    }
    return nullptr;
}

CUresult instantiate(CUgraphExec* handle, CUgraph graph_handle, CUDA_GRAPH_INSTANTIATE_PARAMS& params) {
    params.hErrNode_out = nullptr;
    params.result_out = CUDA_GRAPH_INSTANTIATE_ERROR;
    Graph* source = graphs().find(graph_handle);
    if (source == nullptr || handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
    RETURN_IF_FAILED(check(*source, params.flags));
    auto copy = graph::clone(*source);
    GraphNode* culprit = nullptr;
    if (!graph::sort(*copy, culprit)) {
        params.hErrNode_out = handle_of(original_of(*source, culprit));
        params.result_out = CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE;
        return CUDA_ERROR_INVALID_VALUE;
    }
    GraphExec* exec = graph_execs().make();
    exec->graph = std::move(copy);
    exec->source = source->weak_from_this();
    exec->flags = params.flags & ~static_cast<cuuint64_t>(CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD);
    index(*exec, *exec->graph);
    ++source->executables;
    params.result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS;
    *handle = handle_of(exec);
    return CUDA_SUCCESS;
}

// Handles in nodes may have died since: what they stood for is looked up at every launch.
bool is_usable(const GraphNode& node) {
    if (node.context != nullptr && contexts().find(node.context) == nullptr) return false;
    if (const auto* kernel = std::get_if<KernelWork>(&node.work))
        return functions().find(kernel->function) != nullptr;
    if (const auto* record = std::get_if<RecordWork>(&node.work))
        return events().find(record->event) != nullptr;
    if (const auto* wait = std::get_if<WaitWork>(&node.work)) return events().find(wait->event) != nullptr;
    if (const auto* child = std::get_if<ChildWork>(&node.work))
        return std::all_of(child->graph->nodes.begin(), child->graph->nodes.end(),
                           [](const GraphNode* inside) { return is_usable(*inside); });
    return true;
}

CUresult launch(GraphExec& exec, Stream& stream) {
    for (const GraphNode* node : exec.graph->nodes)
        if (!is_usable(*node)) return CUDA_ERROR_INVALID_HANDLE;
    if (stream.capture != nullptr) {
        if (graph::has_memory_nodes(*exec.graph)) return CUDA_ERROR_NOT_SUPPORTED;
        return capture::record(stream, ChildWork{graph::clone(*exec.graph)});
    }
    if (stream.is_legacy) RETURN_IF_FAILED(capture::forbids_legacy(*stream.context));
    std::vector<FreeWork> left_over;
    RETURN_IF_FAILED(graph_memory::before_launch(exec, left_over));
    for (const FreeWork& free : left_over) RETURN_IF_FAILED(submit(stream, free));
    life::operation_issued();
    Point start = before_new_work(stream);
    exec.last.settle();
    start.join(exec.last);
    start.join({call::enter_ns() + knobs().latency_ns, 0, {}});
    exec.last = graph::issue(*exec.graph, {stream.context, stream.id, call::enter_ns(), true}, start);
    stream.tail = exec.last;
    graph_memory::launched(*exec.graph);
    return CUDA_SUCCESS;
}

// Enabling is for nodes that do something on the device.
GraphNode* switchable(CUgraphExec exec_handle, CUgraphNode node_handle) {
    const GraphExec* exec = graph_execs().find(exec_handle);
    const GraphNode* original = graph_nodes().find(node_handle);
    if (exec == nullptr || original == nullptr) return nullptr;
    const auto found = exec->by_origin.find(original->id);
    if (found == exec->by_origin.end()) return nullptr;
    const auto type = found->second->type();
    const bool can = type == CU_GRAPH_NODE_TYPE_KERNEL || type == CU_GRAPH_NODE_TYPE_MEMCPY ||
                     type == CU_GRAPH_NODE_TYPE_MEMSET;
    return can ? found->second : nullptr;
}

CUresult instantiate_old(CUgraphExec* exec, CUgraph graph, CUgraphNode* error_node, char* log,
                         size_t log_bytes) {
    const auto held = engine::lock();
    CUDA_GRAPH_INSTANTIATE_PARAMS params{};
    const CUresult result = instantiate(exec, graph, params);
    if (error_node != nullptr) *error_node = params.hErrNode_out;
    if (log != nullptr && log_bytes != 0) *log = '\0';
    return result;
}

}  // namespace

GraphExec::~GraphExec() {
    if (const auto original = source.lock()) --original->executables;
    last.settle();
    const bool over = last.open.empty() && clock::now() >= last.end_ns;
    if (!over && graph != nullptr && is_minded(*graph)) drop_after(last, std::move(graph));
}

}  // namespace gpusim::driver

using namespace gpusim;
using namespace gpusim::driver;

API(cuGraphInstantiate)
(CUgraphExec* exec, CUgraph graph, CUgraphNode* error_node, char* log, size_t log_bytes) {
    return instantiate_old(exec, graph, error_node, log, log_bytes);
}
API(cuGraphInstantiate_v2)
(CUgraphExec* exec, CUgraph graph, CUgraphNode* error_node, char* log, size_t log_bytes) {
    return instantiate_old(exec, graph, error_node, log, log_bytes);
}

API(cuGraphInstantiateWithFlags)(CUgraphExec* exec, CUgraph graph, unsigned long long flags) {
    if ((flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD) != 0) return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    CUDA_GRAPH_INSTANTIATE_PARAMS params{};
    params.flags = flags;
    return instantiate(exec, graph, params);
}

API(cuGraphInstantiateWithParams)(CUgraphExec* exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* params) {
    if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    const bool uploads = (params->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD) != 0;
    if (uploads && find_stream(params->hUploadStream) == nullptr) return stream_error();
    return instantiate(exec, graph, *params);
}

API(cuGraphLaunch)(CUgraphExec exec_handle, CUstream stream_handle) {
    const auto held = engine::lock();
    GraphExec* exec = graph_execs().find(exec_handle);
    if (exec == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Stream* stream = find_stream(stream_handle);
    return stream != nullptr ? launch(*exec, *stream) : stream_error();
}

// Everything is where it is needed already; what remains is that a captured stream cannot do it.
API(cuGraphUpload)(CUgraphExec exec_handle, CUstream stream_handle) {
    const auto held = engine::lock();
    if (graph_execs().find(exec_handle) == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Stream* stream = find_stream(stream_handle);
    if (stream == nullptr) return stream_error();
    return stream->capture != nullptr ? capture::forbids_sync(*stream) : CUDA_SUCCESS;
}

API(cuGraphExecGetFlags)(CUgraphExec handle, cuuint64_t* flags) {
    const auto held = engine::lock();
    const GraphExec* exec = graph_execs().find(handle);
    if (exec == nullptr || flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *flags = exec->flags;
    return CUDA_SUCCESS;
}

API(cuGraphExecDestroy)(CUgraphExec handle) {
    const auto held = engine::lock();
    GraphExec* exec = graph_execs().find(handle);
    if (exec == nullptr) return CUDA_ERROR_INVALID_VALUE;
    graph_execs().destroy(exec);
    return CUDA_SUCCESS;
}

API(cuGraphNodeSetEnabled)(CUgraphExec exec, CUgraphNode handle, unsigned enabled) {
    const auto held = engine::lock();
    GraphNode* node = switchable(exec, handle);
    if (node == nullptr) return CUDA_ERROR_INVALID_VALUE;
    node->enabled = enabled != 0;
    return CUDA_SUCCESS;
}

API(cuGraphNodeGetEnabled)(CUgraphExec exec, CUgraphNode handle, unsigned* enabled) {
    const auto held = engine::lock();
    const GraphNode* node = switchable(exec, handle);
    if (node == nullptr || enabled == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *enabled = node->enabled ? 1 : 0;
    return CUDA_SUCCESS;
}
