#include "graph_bench.h"

namespace capture_info_test {

TEST_CASE("a capture can be looked into: id, graph, what comes next after what", "[capture]") {
    const Bench bench;
    const CUstream one = bench.stream(), two = bench.stream();
    CUstreamCaptureStatus status{};
    cuuint64_t id = 0, same_id = 0, other_id = 0;
    CUgraph graph = nullptr;
    const CUgraphNode* front = nullptr;
    const CUgraphEdgeData* data = nullptr;
    size_t count = 7;
    CU(cuStreamGetCaptureInfo_v3(one, &status, &id, &graph, &front, &data, &count));
    CHECK(status == CU_STREAM_CAPTURE_STATUS_NONE);

    CU(cuStreamBeginCapture_v2(one, CU_STREAM_CAPTURE_MODE_RELAXED));
    CU(cuStreamBeginCapture_v2(two, CU_STREAM_CAPTURE_MODE_RELAXED));
    CU(bench.launch("a__10us", one));
    CU(cuStreamGetCaptureInfo_v3(one, &status, &id, &graph, &front, &data, &count));
    CHECK(status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
    CHECK(count == 1);
    CHECK(front[0] == nodes_of(graph)[0]);
    CU(cuStreamGetCaptureInfo(one, &status, &same_id));
    CU(cuStreamGetCaptureInfo_v2(two, &status, &other_id, nullptr, nullptr, &count));
    CHECK(count == 0);
    CHECK(same_id == id);
    CHECK(other_id != id);
    CU_IS(cuStreamGetCaptureInfo(one, nullptr, &id), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuStreamGetCaptureInfo_v3(one, &status, nullptr, nullptr, nullptr, &data, nullptr),
          CUDA_ERROR_INVALID_VALUE);

    CUgraph ended = nullptr;
    CU(cuStreamEndCapture(one, &ended));
    CHECK(ended == graph);
}

TEST_CASE("nodes can be put into a capture by hand", "[capture]") {
    const Bench bench;
    const CUstream s = bench.stream();
    CU(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CU(bench.launch("a__10us", s));
    CUstreamCaptureStatus status{};
    CUgraph graph = nullptr;
    CU(cuStreamGetCaptureInfo_v2(s, &status, nullptr, &graph, nullptr, nullptr));
    CUgraphNode mine = add_kernel(graph, bench.kernel("b__20us"));
    CU(cuStreamUpdateCaptureDependencies(s, &mine, 1, CU_STREAM_ADD_CAPTURE_DEPENDENCIES));
    CU(bench.launch("c__5us", s));
    CU(cuStreamUpdateCaptureDependencies_v2(s, &mine, nullptr, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
    CU(bench.launch("d__1us", s));
    CU_IS(cuStreamUpdateCaptureDependencies(s, &mine, 1, 2), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuGraphDestroy(graph), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuGraphDestroyNode(mine), CUDA_ERROR_INVALID_VALUE);
    CUgraphExec exec = nullptr;
    CU_IS(cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_ERROR_ILLEGAL_STATE);
    CU(cuStreamEndCapture(s, &graph));
    CHECK(edges_of(graph) == "0>2 1>2 1>3");
}

TEST_CASE("a capture can add to a graph that exists", "[capture]") {
    const Bench bench;
    const CUstream s = bench.stream();
    const CUgraph graph = new_graph(), foreign = new_graph();
    const CUgraphNode first = add_kernel(graph, bench.kernel("a__10us"));
    const CUgraphNode stranger = add_kernel(foreign, bench.kernel("a__10us"));
    const auto mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    CU_IS(cuStreamBeginCaptureToGraph(s, graph, &stranger, nullptr, 1, mode), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuStreamBeginCaptureToGraph(s, nullptr, nullptr, nullptr, 0, mode), CUDA_ERROR_INVALID_VALUE);
    CU(cuStreamBeginCaptureToGraph(s, graph, &first, nullptr, 1, mode));
    CU(bench.launch("b__20us", s));
    CUgraph ended = nullptr;
    CU(cuStreamEndCapture(s, &ended));
    CHECK(ended == graph);
    CHECK(edges_of(graph) == "0>1");
    CU(cuGraphLaunch(executable(graph), s));
    CHECK(bench.order() == "a__10us b__20us");
    CU(cuGraphDestroy(graph));
    CU_IS(cuGraphDestroy(graph), CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("a graph launched into a capture is a child graph of it", "[capture]") {
    const Bench bench;
    const CUstream s = bench.stream();
    const CUgraph inner = new_graph();
    add_kernel(inner, bench.kernel("a__10us"), {add_kernel(inner, bench.kernel("d__1us"))});
    const CUgraphExec exec = executable(inner);
    CU(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CU(bench.launch("b__20us", s));
    CU(cuGraphLaunch(exec, s));
    CU(bench.launch("c__5us", s));
    CUgraph outer = nullptr;
    CU(cuStreamEndCapture(s, &outer));
    CUgraphNodeType type{};
    CU(cuGraphNodeGetType(nodes_of(outer)[1], &type));
    CHECK(type == CU_GRAPH_NODE_TYPE_GRAPH);
    CU(cuGraphExecDestroy(exec));
    CU(cuGraphLaunch(executable(outer), s));
    CHECK(bench.order() == "b__20us d__1us a__10us c__5us");
}

TEST_CASE("values of kernel parameters are those of the moment of capture", "[capture]") {
    const Bench bench;
    const CUstream s = bench.stream();
    uint64_t to = 0x1234;
    uint32_t value = 7;
    void* parameters[] = {&to, &value};
    CU(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CU(cuLaunchKernel(bench.kernel("add__3us"), 2, 3, 4, 32, 1, 1, 64, s, parameters, nullptr));
    to = value = 0;
    CUgraph graph = nullptr;
    CU(cuStreamEndCapture(s, &graph));
    CUDA_KERNEL_NODE_PARAMS params{};
    CU(cuGraphKernelNodeGetParams_v2(nodes_of(graph)[0], &params));
    CHECK(*static_cast<uint64_t*>(params.kernelParams[0]) == 0x1234);
    CHECK(*static_cast<uint32_t*>(params.kernelParams[1]) == 7);
    CHECK(params.func == bench.kernel("add__3us"));
    CHECK(params.gridDimZ == 4);
    CHECK(params.sharedMemBytes == 64);
}

}  // namespace capture_info_test
