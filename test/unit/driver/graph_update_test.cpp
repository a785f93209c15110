#include <cstring>

#include "graph_bench.h"

namespace graph_update_test {

namespace {

struct Outcome {
    CUresult call = CUDA_SUCCESS;
    CUgraphExecUpdateResultInfo info{};
};

Outcome update(CUgraphExec exec, CUgraph graph) {
    Outcome outcome;
    outcome.call = cuGraphExecUpdate_v2(exec, graph, &outcome.info);
    return outcome;
}

// Nothing was updated, for this reason, which is told of this node.
void check_refused(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResult why, CUgraphNode node) {
    const Outcome outcome = update(exec, graph);
    CHECK(outcome.call == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    CHECK(outcome.info.result == why);
    CHECK(outcome.info.errorNode == node);
}

CUgraph chain(const Bench& bench, std::initializer_list<const char*> kernels) {
    const CUgraph graph = new_graph();
    std::vector<CUgraphNode> last;
    for (const char* name : kernels) last = {add_kernel(graph, bench.kernel(name), last)};
    return graph;
}

CUgraphNode add_memset(CUgraph graph, CUdeviceptr target, unsigned value, size_t width, CUcontext context) {
    const CUDA_MEMSET_NODE_PARAMS params{target, 0, value, 1, width, 1};
    CUgraphNode node = nullptr;
    CU(cuGraphAddMemsetNode(&node, graph, nullptr, 0, &params, context));
    return node;
}

}  // namespace

TEST_CASE("an executable graph takes over the parameters of an equal graph", "[graph]") {
    const Bench bench;
    const CUgraphExec exec = executable(chain(bench, {"a__10us", "b__20us"}));
    const CUgraph graph = chain(bench, {"c__5us", "d__1us"});
    const Outcome outcome = update(exec, graph);
    CHECK(outcome.call == CUDA_SUCCESS);
    CHECK(outcome.info.result == CU_GRAPH_EXEC_UPDATE_SUCCESS);
    CU(cuGraphDestroy(graph));
    CU(cuGraphLaunch(exec, bench.stream()));
    CHECK(bench.order() == "c__5us d__1us");
}

TEST_CASE("nodes are paired along the edges, not by when they were added", "[graph]") {
    const Bench bench;
    const CUgraphExec exec = executable(chain(bench, {"a__10us", "b__20us"}));
    const CUgraph graph = new_graph();
    const CUgraphNode last = add_kernel(graph, bench.kernel("d__1us"));
    const CUgraphNode first = add_kernel(graph, bench.kernel("c__5us"));
    CU(cuGraphAddDependencies(graph, &first, &last, 1));
    CHECK(update(exec, graph).call == CUDA_SUCCESS);
    CU(cuGraphLaunch(exec, bench.stream()));
    CHECK(bench.order() == "c__5us d__1us");
}

TEST_CASE("another shape is refused and changes nothing", "[graph]") {
    const Bench bench;
    const CUgraphExec exec = executable(chain(bench, {"a__10us", "b__20us", "c__5us"}));
    check_refused(exec, chain(bench, {"a__10us", "b__20us"}), CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED,
                  nullptr);

    const CUgraph fork = new_graph();  // two exits
    const CUgraphNode root = add_kernel(fork, bench.kernel("d__1us"));
    add_kernel(fork, bench.kernel("d__1us"), {root});
    const CUgraphNode second = add_kernel(fork, bench.kernel("d__1us"), {root});
    check_refused(exec, fork, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, second);

    const CUgraph join = new_graph();  // one exit with two dependencies
    const CUgraphNode one = add_kernel(join, bench.kernel("d__1us")),
                      two = add_kernel(join, bench.kernel("d__1us"));
    const CUgraphNode both = add_kernel(join, bench.kernel("d__1us"), {one, two});
    check_refused(exec, join, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, both);

    const CUgraphNode kind = [&] {
        const CUgraph graph = chain(bench, {"d__1us", "d__1us"});
        const CUgraphNode last = nodes_of(graph)[1];
        CUgraphNode empty = nullptr;
        CU(cuGraphAddEmptyNode(&empty, graph, &last, 1));
        check_refused(exec, graph, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, empty);
        return empty;
    }();
    CHECK(kind != nullptr);
    CU(cuGraphLaunch(exec, bench.stream()));
    CHECK(bench.order() == "a__10us b__20us c__5us");
}

TEST_CASE("the older form of update tells node and reason", "[graph]") {
    const Bench bench;
    const CUgraphExec exec = executable(chain(bench, {"a__10us"}));
    const CUgraph graph = new_graph();
    CUgraphNode empty = nullptr, told = nullptr;
    CU(cuGraphAddEmptyNode(&empty, graph, nullptr, 0));
    CUgraphExecUpdateResult why{};
    CU_IS(cuGraphExecUpdate(exec, graph, &told, &why), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    CHECK((told == empty && why == CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED));
    CU_IS(cuGraphExecUpdate(exec, nullptr, &told, &why), CUDA_ERROR_INVALID_VALUE);
    CHECK(why == CU_GRAPH_EXEC_UPDATE_ERROR);
}

TEST_CASE("functions of another context and other cooperation are refused", "[graph]") {
    const Bench bench;
    const CUgraphExec exec = executable(chain(bench, {"a__10us"}));
    const CUgraph cooperative = chain(bench, {"a__10us"});
    CUkernelNodeAttrValue value{};
    value.cooperative = 1;
    const CUgraphNode node = nodes_of(cooperative)[0];
    CU(cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value));
    check_refused(exec, cooperative, CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED, node);

    CUcontext context = nullptr;
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    CU(cuCtxCreate_v2(&context, 0, 0));
    CU(cuModuleLoadData(&module, "any image"));
    CU(cuModuleGetFunction(&function, module, "other"));
    const CUgraph foreign = new_graph();
    const CUgraphNode elsewhere_node = add_kernel(foreign, function);
    check_refused(exec, foreign, CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE, elsewhere_node);
}

TEST_CASE("child graphs are updated with their parent", "[graph]") {
    const Bench bench;
    const auto parent_of = [&](CUgraph child) {
        const CUgraph parent = new_graph();
        CUgraphNode node = nullptr;
        CU(cuGraphAddChildGraphNode(&node, parent, nullptr, 0, child));
        return parent;
    };
    const CUgraph original = parent_of(chain(bench, {"a__10us", "b__20us"}));
    const CUgraphExec exec = executable(original);
    CHECK(update(exec, parent_of(chain(bench, {"c__5us", "b__20us"}))).call == CUDA_SUCCESS);
    const Outcome refused = update(exec, parent_of(chain(bench, {"d__1us"})));
    CHECK(refused.info.result == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
    CU(cuGraphLaunch(exec, bench.stream()));
    const CUgraphNode child = nodes_of(original)[0];
    CU(cuGraphExecChildGraphNodeSetParams(exec, child, chain(bench, {"d__1us", "d__1us"})));
    CU_IS(cuGraphExecChildGraphNodeSetParams(exec, child, chain(bench, {"d__1us"})),
          CUDA_ERROR_INVALID_VALUE);
    CU(cuGraphLaunch(exec, bench.stream()));
    CHECK(bench.order() == "c__5us b__20us d__1us d__1us");
}

TEST_CASE("a kernel node's parameters change in the graph or in the executable graph", "[graph]") {
    const Bench bench;
    uint64_t to = 1;
    uint32_t value = 2;
    void* parameters[] = {&to, &value};
    const CUgraph graph = new_graph();
    auto params = kernel_node(bench.kernel("add__3us"), parameters);
    CUgraphNode node = nullptr;
    CU(cuGraphAddKernelNode_v2(&node, graph, nullptr, 0, &params));
    const CUgraphExec exec = executable(graph);

    params = kernel_node(bench.kernel("b__20us"));
    CU(cuGraphExecKernelNodeSetParams_v2(exec, node, &params));
    CUDA_KERNEL_NODE_PARAMS told{};
    CU(cuGraphKernelNodeGetParams_v2(node, &told));
    CHECK(told.func == bench.kernel("add__3us"));
    CHECK(*static_cast<uint32_t*>(told.kernelParams[1]) == 2);

    value = 5;
    params = kernel_node(bench.kernel("add__3us"), parameters);
    params.gridDimX = 9;
    CU(cuGraphKernelNodeSetParams_v2(node, &params));
    CU(cuGraphKernelNodeGetParams_v2(node, &told));
    CHECK(*static_cast<uint32_t*>(told.kernelParams[1]) == 5);
    CHECK(told.gridDimX == 9);
    CU(cuGraphLaunch(exec, bench.stream()));
    CHECK(bench.order() == "b__20us");

    params.blockDimX = 0;
    CU_IS(cuGraphKernelNodeSetParams_v2(node, &params), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuGraphExecKernelNodeSetParams_v2(exec, node, &params), CUDA_ERROR_INVALID_VALUE);
    CUgraphNode stranger = add_kernel(new_graph(), bench.kernel("a__10us"));
    params.blockDimX = 1;
    CU_IS(cuGraphExecKernelNodeSetParams_v2(exec, stranger, &params), CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("a running launch keeps what it had", "[graph]") {
    const Bench bench;
    const CUgraph graph = chain(bench, {"b__20us"});
    const CUgraphExec exec = executable(graph);
    const CUstream s = bench.stream();
    CU(cuGraphLaunch(exec, s));
    const auto params = kernel_node(bench.kernel("d__1us"));
    CU(cuGraphExecKernelNodeSetParams_v2(exec, nodes_of(graph)[0], &params));
    CU(cuGraphLaunch(exec, s));
    CU(cuGraphExecDestroy(exec));
    CU(cuGraphDestroy(graph));
    const auto ran = bench.ran();
    REQUIRE(ran.size() == 2);
    CHECK(ran[0].name == "b__20us");
    CHECK(ran[1].name == "d__1us");
    CHECK(ran[1].start_ns == ran[0].end_ns);
}

TEST_CASE("a copy node of an executable graph takes another source of the same kind", "[graph]") {
    const Bench bench;
    const CUdeviceptr memory = bench.memory(64);
    const auto* device = reinterpret_cast<const void*>(memory);
    void *first = nullptr, *second = nullptr;
    CU(cuMemHostAlloc(&first, 64, 0));
    CU(cuMemHostAlloc(&second, 64, 0));
    std::memset(first, 'a', 64);
    std::memset(second, 'b', 64);
    const CUgraph graph = new_graph();
    auto copy = flat_copy(CU_MEMORYTYPE_HOST, first, CU_MEMORYTYPE_DEVICE, device, 64);
    CUgraphNode node = nullptr;
    CU(cuGraphAddMemcpyNode(&node, graph, nullptr, 0, &copy, bench.context));
    const CUgraphExec exec = executable(graph);
    copy.srcHost = second;
    CU(cuGraphExecMemcpyNodeSetParams(exec, node, &copy, bench.context));
    CU(cuGraphLaunch(exec, nullptr));
    char out[64] = {};
    CU(cuMemcpyDtoH_v2(out, memory, sizeof out));
    CHECK(std::string(out, 64) == std::string(64, 'b'));
    CUDA_MEMCPY3D told{};
    CU(cuGraphMemcpyNodeGetParams(node, &told));
    CHECK(told.srcHost == first);
    CHECK(told.WidthInBytes == 64);

    const auto other_kind = flat_copy(CU_MEMORYTYPE_DEVICE, device, CU_MEMORYTYPE_DEVICE, device, 64);
    CU_IS(cuGraphExecMemcpyNodeSetParams(exec, node, &other_kind, bench.context), CUDA_ERROR_INVALID_VALUE);
    auto rows = copy;
    rows.WidthInBytes = rows.srcPitch = rows.dstPitch = 8;
    rows.srcHeight = rows.dstHeight = rows.Height = 8;
    CU_IS(cuGraphExecMemcpyNodeSetParams(exec, node, &rows, bench.context), CUDA_ERROR_INVALID_VALUE);
    CU(cuGraphMemcpyNodeSetParams(node, &rows));
}

TEST_CASE("memsets change value and place, and rows keep their shape", "[graph]") {
    const Bench bench;
    const CUdeviceptr memory = bench.memory(64);
    const CUgraph graph = new_graph();
    const CUgraphNode node = add_memset(graph, memory, 1, 64, bench.context);
    const CUgraphExec exec = executable(graph);
    CUDA_MEMSET_NODE_PARAMS params{};
    CU(cuGraphMemsetNodeGetParams(node, &params));
    CHECK((params.dst == memory && params.width == 64));
    params.value = 3;
    params.width = 32;
    CU(cuGraphExecMemsetNodeSetParams(exec, node, &params, bench.context));
    params.elementSize = 3;
    CU_IS(cuGraphExecMemsetNodeSetParams(exec, node, &params, bench.context), CUDA_ERROR_INVALID_VALUE);
    CU(cuMemsetD8_v2(memory, 9, 64));
    CU(cuGraphLaunch(exec, nullptr));
    char out[64] = {};
    CU(cuMemcpyDtoH_v2(out, memory, sizeof out));
    CHECK(std::string(out, 64) == std::string(32, 3) + std::string(32, 9));

    const CUDA_MEMSET_NODE_PARAMS rows{memory, 16, 1, 1, 8, 4}, fewer{memory, 16, 1, 1, 8, 2};
    CUgraphNode block = nullptr;
    const CUgraph two_dimensional = new_graph();
    CU(cuGraphAddMemsetNode(&block, two_dimensional, nullptr, 0, &rows, bench.context));
    const CUgraphExec fixed = executable(two_dimensional);
    CU_IS(cuGraphExecMemsetNodeSetParams(fixed, block, &fewer, bench.context), CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("host and event nodes change what they call and record", "[graph]") {
    const Bench bench;
    int calls = 0;
    const auto count = [](void* counter) { ++*static_cast<int*>(counter); };
    CUDA_HOST_NODE_PARAMS host{[](void*) {}, nullptr};
    const CUgraph graph = new_graph();
    CUgraphNode node = nullptr, record = nullptr;
    CU(cuGraphAddHostNode(&node, graph, nullptr, 0, &host));
    const CUevent first = bench.event(), second = bench.event();
    CU(cuGraphAddEventRecordNode(&record, graph, &node, 1, first));
    const CUgraphExec exec = executable(graph);
    host = {count, &calls};
    CU(cuGraphExecHostNodeSetParams(exec, node, &host));
    CU(cuGraphExecEventRecordNodeSetEvent(exec, record, second));
    CU_IS(cuGraphExecEventRecordNodeSetEvent(exec, node, second), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuGraphHostNodeSetParams(record, &host), CUDA_ERROR_INVALID_VALUE);
    CU(cuGraphLaunch(exec, bench.stream()));
    CU(cuEventSynchronize(second));
    CHECK(calls == 1);
    CU(cuGraphHostNodeGetParams(node, &host));
    CHECK(host.userData == nullptr);

    CUgraphNodeParams general{};
    general.type = CU_GRAPH_NODE_TYPE_HOST;
    general.host = {count, &calls};
    CU(cuGraphNodeSetParams(node, &general));
    CU(cuGraphHostNodeGetParams(node, &host));
    CHECK(host.userData == &calls);
    general.reserved2 = 1;
    CU_IS(cuGraphNodeSetParams(node, &general), CUDA_ERROR_INVALID_VALUE);
    general.reserved2 = 0;
    general.reserved1[20] = 1;
    CU_IS(cuGraphExecNodeSetParams(exec, node, &general), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace graph_update_test
