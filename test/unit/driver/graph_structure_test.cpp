#include "graph_bench.h"

namespace graph_structure_test {

namespace {

size_t count_of(CUresult (*ask)(CUgraph, CUgraphNode*, size_t*), CUgraph graph) {
    size_t count = 0;
    CU(ask(graph, nullptr, &count));
    return count;
}

CUgraphNode add_empty(CUgraph graph, const std::vector<CUgraphNode>& after = {}) {
    CUgraphNode node = nullptr;
    CU(cuGraphAddEmptyNode(&node, graph, after.data(), after.size()));
    return node;
}

}  // namespace

TEST_CASE("nodes and edges are told as they were added", "[graph]") {
    const Bench bench;
    const CUgraph graph = new_graph();
    const CUgraphNode a = add_empty(graph), b = add_empty(graph, {a}), c = add_empty(graph, {a});
    const CUgraphNode d = add_empty(graph, {b, c});
    CHECK(edges_of(graph) == "0>1 0>2 1>3 2>3");
    CHECK(count_of(cuGraphGetRootNodes, graph) == 1);

    CUgraphNode found[3] = {};
    size_t count = 3;
    CU(cuGraphNodeGetDependencies(d, found, &count));
    CHECK(count == 2);
    CHECK((found[0] == b && found[1] == c && found[2] == nullptr));
    count = 1;
    CU(cuGraphNodeGetDependentNodes(a, found, &count));
    CHECK((count == 1 && found[0] == b));
    count = 0;
    CU(cuGraphNodeGetDependentNodes(d, nullptr, &count));
    CHECK(count == 0);

    CU(cuGraphRemoveDependencies(graph, &b, &d, 1));
    CU_IS(cuGraphRemoveDependencies(graph, &b, &d, 1), CUDA_ERROR_INVALID_VALUE);
    CU(cuGraphDestroyNode(c));
    CHECK(edges_of(graph) == "0>1");
    CHECK(count_of(cuGraphGetRootNodes, graph) == 2);
}

TEST_CASE("wrong nodes, graphs and edges are refused", "[graph]") {
    const Bench bench;
    const CUgraph graph = new_graph(), other = new_graph();
    const CUgraphNode a = add_empty(graph), b = add_empty(graph, {a}), stranger = add_empty(other);
    const CUgraphNode doubled[] = {a, a};
    CUgraphNode node = nullptr;
    CUgraphNodeType type{};
    CU_IS(cuGraphCreate(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuGraphAddEmptyNode(&node, graph, &stranger, 1), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuGraphAddEmptyNode(&node, graph, doubled, 2), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuGraphAddEmptyNode(&node, graph, nullptr, 1), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuGraphAddEmptyNode(nullptr, graph, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuGraphAddDependencies(graph, &a, &b, 1), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuGraphAddDependencies(graph, &a, &a, 1), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuGraphAddDependencies(graph, &a, &stranger, 1), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuGraphNodeGetType(a, nullptr), CUDA_ERROR_INVALID_VALUE);
    CHECK(edges_of(graph) == "0>1");
    CU(cuGraphDestroy(graph));
    CU_IS(cuGraphDestroy(graph), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuGraphNodeGetType(a, &type), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuGraphAddEmptyNode(&node, graph, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuGraphDestroyNode(b), CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("a graph with a cycle cannot be instantiated", "[graph]") {
    const Bench bench;
    const CUgraph graph = new_graph();
    const CUgraphNode start = add_empty(graph), a = add_empty(graph, {start}), b = add_empty(graph, {a});
    CU(cuGraphAddDependencies(graph, &b, &a, 1));
    CUgraphExec exec = nullptr;
    CUgraphNode culprit = nullptr;
    char log[8] = "unset";
    CU_IS(cuGraphInstantiate(&exec, graph, &culprit, log, sizeof log), CUDA_ERROR_INVALID_VALUE);
    CHECK((culprit == a || culprit == b));
    CHECK(std::string(log).empty());
    CUDA_GRAPH_INSTANTIATE_PARAMS params{};
    CU_IS(cuGraphInstantiateWithParams(&exec, graph, &params), CUDA_ERROR_INVALID_VALUE);
    CHECK(params.result_out == CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE);
    CU(cuGraphRemoveDependencies(graph, &b, &a, 1));
    CU(cuGraphInstantiateWithParams(&exec, graph, &params));
    CHECK(params.result_out == CUDA_GRAPH_INSTANTIATE_SUCCESS);
}

TEST_CASE("flags of instantiation", "[graph]") {
    const Bench bench;
    const CUgraph graph = new_graph();
    CUgraphExec exec = nullptr;
    cuuint64_t flags = 0;
    const auto auto_free = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
    CU_IS(cuGraphInstantiateWithFlags(&exec, graph, 1U << 10), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuGraphInstantiateWithFlags(&exec, graph, CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD),
          CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuGraphInstantiateWithFlags(&exec, graph, auto_free | CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH),
          CUDA_ERROR_INVALID_VALUE);
    CU(cuGraphInstantiateWithFlags(&exec, graph, auto_free));
    CU(cuGraphExecGetFlags(exec, &flags));
    CHECK(flags == auto_free);
    CUDA_GRAPH_INSTANTIATE_PARAMS params{};
    params.flags = CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
    params.hUploadStream = bench.stream();
    CU(cuGraphInstantiateWithParams(&exec, graph, &params));
    CU(cuGraphExecGetFlags(exec, &flags));
    CHECK(flags == CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY);
    CU(cuGraphUpload(exec, bench.stream()));
    CU(cuGraphExecDestroy(exec));
    CU_IS(cuGraphExecDestroy(exec), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuGraphLaunch(exec, bench.stream()), CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("a clone is a graph of its own whose nodes can be found", "[graph]") {
    const Bench bench;
    const CUgraph graph = new_graph();
    const CUgraphNode a = add_kernel(graph, bench.kernel("a__10us"));
    const CUgraphNode b = add_kernel(graph, bench.kernel("b__20us"), {a});
    CUgraph clone = nullptr;
    CU(cuGraphClone(&clone, graph));
    CUgraphNode twin = nullptr;
    CU(cuGraphNodeFindInClone(&twin, b, clone));
    CHECK(twin == nodes_of(clone)[1]);
    CU_IS(cuGraphNodeFindInClone(&twin, b, graph), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuGraphNodeFindInClone(&twin, twin, clone), CUDA_ERROR_INVALID_VALUE);
    CU(cuGraphDestroy(graph));
    CHECK(edges_of(clone) == "0>1");
    CU(cuGraphDestroyNode(twin));
    CHECK(nodes_of(clone).size() == 1);
}

TEST_CASE("edges of kernels may carry data, and tell it only to those who ask", "[graph]") {
    const Bench bench;
    const CUgraph graph = new_graph();
    const CUgraphNode a = add_kernel(graph, bench.kernel("a__10us")),
                      b = add_kernel(graph, bench.kernel("a__10us"));
    const CUgraphNode empty = add_empty(graph);
    CUgraphEdgeData data{};
    data.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
    data.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
    CU_IS(cuGraphAddDependencies_v2(graph, &a, &empty, &data, 1), CUDA_ERROR_INVALID_VALUE);
    CU(cuGraphAddDependencies_v2(graph, &a, &b, &data, 1));
    CUgraphNode from = nullptr, to = nullptr;
    CUgraphEdgeData told{};
    size_t count = 1;
    CU_IS(cuGraphGetEdges(graph, &from, &to, &count), CUDA_ERROR_LOSSY_QUERY);
    CU(cuGraphGetEdges_v2(graph, &from, &to, &told, &count));
    CHECK((from == a && to == b && told.from_port == data.from_port));
    CU_IS(cuGraphNodeGetDependencies(b, &from, &count), CUDA_ERROR_LOSSY_QUERY);
    CU(cuGraphNodeGetDependencies_v2(b, &from, &told, &count));
    CU_IS(cuGraphRemoveDependencies(graph, &a, &b, 1), CUDA_ERROR_INVALID_VALUE);
    CU(cuGraphRemoveDependencies_v2(graph, &a, &b, &data, 1));
}

TEST_CASE("kinds of nodes that the box does not simulate say so", "[graph]") {
    const Bench bench;
    const CUgraph graph = new_graph();
    CUgraphNode node = nullptr;
    for (const auto type : {CU_GRAPH_NODE_TYPE_CONDITIONAL, CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL,
                            CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT}) {
        CUgraphNodeParams params{};
        params.type = type;
        CU_IS(cuGraphAddNode_v2(&node, graph, nullptr, nullptr, 0, &params), CUDA_ERROR_NOT_SUPPORTED);
    }
    CUgraphConditionalHandle handle{};
    CU_IS(cuGraphConditionalHandleCreate(&handle, graph, bench.context, 0, 0), CUDA_ERROR_NOT_SUPPORTED);
    CUDA_EXT_SEM_SIGNAL_NODE_PARAMS signal{};
    CU_IS(cuGraphAddExternalSemaphoresSignalNode(&node, graph, nullptr, 0, &signal),
          CUDA_ERROR_NOT_SUPPORTED);
}

}  // namespace graph_structure_test
