#include <cstring>

#include "graph_bench.h"

namespace graph_kernel_node_test {

TEST_CASE("a kernel node is added by function or by kernel, with parameters singly or packed", "[graph]") {
    const Bench bench;
    const CUgraph graph = new_graph();
    struct {
        uint64_t to;
        uint32_t value;
    } packed{11, 12};
    size_t size = 12;
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    auto params = kernel_node(bench.kernel("add__3us"));
    CUgraphNode node = nullptr;
    CU_IS(cuGraphAddKernelNode_v2(&node, graph, nullptr, 0, &params), CUDA_ERROR_INVALID_VALUE);
    params.extra = extra;
    CU(cuGraphAddKernelNode_v2(&node, graph, nullptr, 0, &params));
    packed = {0, 0};
    CUDA_KERNEL_NODE_PARAMS_v1 told{};
    CU(cuGraphKernelNodeGetParams(node, &told));
    CHECK(told.func == bench.kernel("add__3us"));
    CHECK(*static_cast<uint64_t*>(told.kernelParams[0]) == 11);
    CHECK(*static_cast<uint32_t*>(told.kernelParams[1]) == 12);
    CU(cuGraphAddKernelNode(&node, graph, nullptr, 0, &told));
    size = 8;
    CU_IS(cuGraphAddKernelNode_v2(&node, graph, nullptr, 0, &params), CUDA_ERROR_INVALID_VALUE);

    CUlibrary library = nullptr;
    CUkernel kernel = nullptr;
    CU(cuLibraryLoadData(&library, "any image", nullptr, nullptr, 0, nullptr, nullptr, 0));
    CU(cuLibraryGetKernel(&kernel, library, "k__2us"));
    params = kernel_node(nullptr);
    params.kern = kernel;
    CU(cuGraphAddKernelNode_v2(&node, graph, nullptr, 0, &params));
    CUDA_KERNEL_NODE_PARAMS by_kernel{};
    CU(cuGraphKernelNodeGetParams_v2(node, &by_kernel));
    CHECK(by_kernel.kern == kernel);
    CHECK(by_kernel.func == nullptr);
    CU(cuGraphKernelNodeGetParams(node, &told));
    CHECK(told.func != nullptr);
    CU(cuGraphLaunch(executable(graph), bench.stream()));
    CHECK(bench.order() == "add__3us add__3us k__2us");
}

TEST_CASE("wrong kernels and shapes are refused", "[graph]") {
    const Bench bench;
    const CUgraph graph = new_graph();
    CUgraphNode node = nullptr;
    auto params = kernel_node(nullptr);
    CU_IS(cuGraphAddKernelNode_v2(&node, graph, nullptr, 0, &params), CUDA_ERROR_INVALID_VALUE);
    params.func = reinterpret_cast<CUfunction>(&params);
    CU_IS(cuGraphAddKernelNode_v2(&node, graph, nullptr, 0, &params), CUDA_ERROR_INVALID_HANDLE);
    params = kernel_node(bench.kernel("a__10us"));
    params.gridDimY = 0;
    CU_IS(cuGraphAddKernelNode_v2(&node, graph, nullptr, 0, &params), CUDA_ERROR_INVALID_VALUE);
    params = kernel_node(bench.kernel("a__10us"));
    params.blockDimX = 1025;
    CU_IS(cuGraphAddKernelNode_v2(&node, graph, nullptr, 0, &params), CUDA_ERROR_INVALID_VALUE);
    params = kernel_node(bench.kernel("a__10us"));
    params.sharedMemBytes = 1 << 20;
    CU_IS(cuGraphAddKernelNode_v2(&node, graph, nullptr, 0, &params), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuGraphAddKernelNode_v2(&node, graph, nullptr, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
    CUDA_MEMSET_NODE_PARAMS memset_params{};
    CUgraphNode empty = nullptr;
    CU(cuGraphAddEmptyNode(&empty, graph, nullptr, 0));
    CU_IS(cuGraphKernelNodeGetParams_v2(empty, &params), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuGraphMemsetNodeGetParams(empty, &memset_params), CUDA_ERROR_INVALID_VALUE);
    CHECK(nodes_of(graph).size() == 1);
}

TEST_CASE("attributes of kernel nodes are set, told and copied", "[graph]") {
    const Bench bench;
    const CUgraph graph = new_graph();
    const CUgraphNode one = add_kernel(graph, bench.kernel("a__10us")),
                      two = add_kernel(graph, bench.kernel("a__10us"));
    CUkernelNodeAttrValue value{}, told{};
    value.priority = -3;
    CU(cuGraphKernelNodeSetAttribute(one, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value));
    CU(cuGraphKernelNodeGetAttribute(one, CU_LAUNCH_ATTRIBUTE_PRIORITY, &told));
    CHECK(told.priority == -3);
    CU(cuGraphKernelNodeGetAttribute(two, CU_LAUNCH_ATTRIBUTE_PRIORITY, &told));
    CHECK(told.priority == 0);
    CU(cuGraphKernelNodeCopyAttributes(two, one));
    CU(cuGraphKernelNodeGetAttribute(two, CU_LAUNCH_ATTRIBUTE_PRIORITY, &told));
    CHECK(told.priority == -3);
    const auto params = kernel_node(bench.kernel("b__20us"));
    CU(cuGraphKernelNodeSetParams_v2(two, &params));
    CU(cuGraphKernelNodeGetAttribute(two, CU_LAUNCH_ATTRIBUTE_PRIORITY, &told));
    CHECK(told.priority == -3);
    CU_IS(cuGraphKernelNodeSetAttribute(one, CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, &value),
          CUDA_ERROR_NOT_SUPPORTED);
    CU_IS(cuGraphKernelNodeSetAttribute(one, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value),
          CUDA_ERROR_INVALID_VALUE);

    const CUstream s = bench.stream();
    CU(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CU(cuLaunchCooperativeKernel(bench.kernel("a__10us"), 1, 1, 1, 32, 1, 1, 0, s, nullptr));
    CUgraph captured = nullptr;
    CU(cuStreamEndCapture(s, &captured));
    CU(cuGraphKernelNodeGetAttribute(nodes_of(captured)[0], CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &told));
    CHECK(told.cooperative == 1);
}

TEST_CASE("batches of memory operations are nodes", "[graph]") {
    const Bench bench;
    const CUdeviceptr memory = bench.memory(64);
    CU(cuMemsetD8_v2(memory, 0, 64));
    CUstreamBatchMemOpParams operation{};
    operation.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    operation.writeValue.address = memory;
    operation.writeValue.value = 77;
    CUDA_BATCH_MEM_OP_NODE_PARAMS batch{bench.context, 1, &operation, 0};
    const CUgraph graph = new_graph();
    CUgraphNode node = nullptr;
    CU(cuGraphAddBatchMemOpNode(&node, graph, nullptr, 0, &batch));
    const CUgraphExec exec = executable(graph);
    operation.writeValue.value = 78;
    CUDA_BATCH_MEM_OP_NODE_PARAMS told{};
    CU(cuGraphBatchMemOpNodeGetParams(node, &told));
    CHECK((told.count == 1 && told.paramArray[0].writeValue.value == 77));
    CU(cuGraphLaunch(exec, nullptr));
    unsigned out = 0;
    CU(cuMemcpyDtoH_v2(&out, memory, sizeof out));
    CHECK(out == 77);
    CU(cuGraphExecBatchMemOpNodeSetParams(exec, node, &batch));
    CU(cuGraphLaunch(exec, nullptr));
    CU(cuMemcpyDtoH_v2(&out, memory, sizeof out));
    CHECK(out == 78);
    batch.count = 0;
    CU_IS(cuGraphAddBatchMemOpNode(&node, graph, nullptr, 0, &batch), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace graph_kernel_node_test
