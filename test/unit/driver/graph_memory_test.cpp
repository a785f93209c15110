#include <atomic>
#include <chrono>

#include "graph_bench.h"

namespace graph_memory_test {

namespace {

CUgraphNode add_alloc(CUgraph graph, size_t bytes, CUdeviceptr& address) {
    CUDA_MEM_ALLOC_NODE_PARAMS params{};
    params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    params.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    params.bytesize = bytes;
    CUgraphNode node = nullptr;
    CU(cuGraphAddMemAllocNode(&node, graph, nullptr, 0, &params));
    address = params.dptr;
    return node;
}

cuuint64_t memory_of_graphs(CUgraphMem_attribute attribute) {
    cuuint64_t value = 0;
    CU(cuDeviceGetGraphMemAttribute(0, attribute, &value));
    return value;
}

void count_up(void* counter) { ++*static_cast<std::atomic<int>*>(counter); }

// The destructor runs on the box's own thread.
bool becomes(const std::atomic<int>& counter, int value) {
    for (int i = 0; i < 2000 && counter != value; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return counter == value;
}

}  // namespace

TEST_CASE("memory that a graph allocates and frees is there at every launch", "[graph]") {
    const Bench bench;
    const CUgraph graph = new_graph();
    CUdeviceptr memory = 0;
    const CUgraphNode alloc = add_alloc(graph, 1024, memory);
    REQUIRE(memory != 0);
    const CUDA_MEMSET_NODE_PARAMS set{memory, 0, 5, 1, 1024, 1};
    CUgraphNode filled = nullptr, freed = nullptr;
    CU(cuGraphAddMemsetNode(&filled, graph, &alloc, 1, &set, bench.context));
    CU(cuGraphAddMemFreeNode(&freed, graph, &filled, 1, memory));
    CU_IS(cuGraphAddMemFreeNode(&freed, graph, nullptr, 0, memory), CUDA_ERROR_INVALID_VALUE);
    CUDA_MEM_ALLOC_NODE_PARAMS told{};
    CU(cuGraphMemAllocNodeGetParams(alloc, &told));
    CHECK((told.dptr == memory && told.bytesize == 1024));
    CUdeviceptr to_free = 0;
    CU(cuGraphMemFreeNodeGetParams(nodes_of(graph)[2], &to_free));
    CHECK(to_free == memory);

    const CUgraphExec exec = executable(graph);
    CU(cuGraphLaunch(exec, bench.stream()));
    CU(cuGraphLaunch(exec, bench.stream()));
    CHECK(bench.order() == "alloc memset free alloc memset free");
    CHECK(memory_of_graphs(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT) == 0);
    CHECK(memory_of_graphs(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH) == 1024);
    CHECK(memory_of_graphs(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT) == 1024);
    CU(cuGraphExecDestroy(exec));
    CU(cuGraphDestroy(graph));
    CHECK(memory_of_graphs(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT) == 0);
    cuuint64_t zero = 0, one = 1;
    CU_IS(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &one), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &zero),
          CUDA_ERROR_INVALID_VALUE);
    CU(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &zero));
    CHECK(memory_of_graphs(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH) == 0);
    CU(cuDeviceGraphMemTrim(0));
    CU_IS(cuDeviceGraphMemTrim(9), CUDA_ERROR_INVALID_DEVICE);
}

TEST_CASE("memory left over forbids a relaunch until it is freed, or the launch frees it", "[graph]") {
    const Bench bench;
    const CUgraph graph = new_graph();
    CUdeviceptr memory = 0;
    add_alloc(graph, 4096, memory);
    const CUstream s = bench.stream();
    CUgraphExec exec = executable(graph);
    CU(cuGraphLaunch(exec, s));
    CHECK(memory_of_graphs(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT) == 4096);
    CU(cuMemsetD8Async(memory, 1, 4096, s));
    CU_IS(cuGraphLaunch(exec, s), CUDA_ERROR_INVALID_VALUE);
    CU(cuMemFreeAsync(memory, s));
    CU(cuGraphLaunch(exec, s));
    CU(cuMemFree_v2(memory));
    CU(cuGraphExecDestroy(exec));

    CU(cuGraphInstantiateWithFlags(&exec, graph, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
    CU(cuGraphLaunch(exec, s));
    CU(cuGraphLaunch(exec, s));
    CHECK(bench.order() == "alloc memset free alloc alloc free alloc");
}

TEST_CASE("graphs that allocate cannot be cloned, reduced, embedded or instantiated twice", "[graph]") {
    const Bench bench;
    const CUgraph graph = new_graph(), parent = new_graph();
    CUdeviceptr memory = 0;
    const CUgraphNode alloc = add_alloc(graph, 512, memory);
    const CUgraphNode after = add_kernel(graph, bench.kernel("a__10us"), {alloc});
    CUgraph clone = nullptr;
    CUgraphNode node = nullptr;
    CUgraphExec exec = nullptr;
    CU_IS(cuGraphClone(&clone, graph), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuGraphDestroyNode(after), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuGraphRemoveDependencies(graph, &alloc, &after, 1), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuGraphAddChildGraphNode(&node, parent, nullptr, 0, graph), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuGraphAddMemFreeNode(&node, parent, nullptr, 0, memory + 512), CUDA_ERROR_INVALID_VALUE);
    const CUgraphExec first = executable(graph);
    CU_IS(cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_ERROR_INVALID_VALUE);
    CU(cuGraphExecDestroy(first));
    CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
}

TEST_CASE("allocations and frees of a captured stream become nodes", "[graph]") {
    const Bench bench;
    const CUstream s = bench.stream();
    CU(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CUdeviceptr memory = 0;
    CU(cuMemAllocAsync(&memory, 256, s));
    CU(cuMemsetD8Async(memory, 1, 256, s));
    CU(cuMemFreeAsync(memory, s));
    CUgraph graph = nullptr;
    CU(cuStreamEndCapture(s, &graph));
    const CUgraphNodeType expected[] = {CU_GRAPH_NODE_TYPE_MEM_ALLOC, CU_GRAPH_NODE_TYPE_MEMSET,
                                        CU_GRAPH_NODE_TYPE_MEM_FREE};
    const auto nodes = nodes_of(graph);
    REQUIRE(nodes.size() == 3);
    for (size_t i = 0; i < 3; ++i) {
        CUgraphNodeType type{};
        CU(cuGraphNodeGetType(nodes[i], &type));
        CHECK(type == expected[i]);
    }
    const CUgraphExec exec = executable(graph);
    CU(cuGraphLaunch(exec, s));
    CU(cuGraphLaunch(exec, s));
    CHECK(bench.order() == "alloc memset free alloc memset free");
}

TEST_CASE("a user object goes with its last reference, also those of graphs", "[graph]") {
    const Bench bench;
    std::atomic<int> destroyed{0};
    CUuserObject object = nullptr;
    CU_IS(cuUserObjectCreate(&object, &destroyed, count_up, 1, 0), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuUserObjectCreate(&object, &destroyed, nullptr, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
          CUDA_ERROR_INVALID_VALUE);
    CU(cuUserObjectCreate(&object, &destroyed, count_up, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    CU(cuUserObjectRetain(object, 2));
    CU(cuUserObjectRelease(object, 2));
    const CUgraph graph = new_graph();
    add_kernel(graph, bench.kernel("a__10us"));
    CU_IS(cuGraphReleaseUserObject(graph, object, 1), CUDA_ERROR_INVALID_VALUE);
    CU(cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
    const CUgraphExec exec = executable(graph);
    CU(cuGraphDestroy(graph));
    CU(cuGraphLaunch(exec, bench.stream()));
    CU(cuCtxSynchronize());
    CHECK(destroyed == 0);
    CU(cuGraphExecDestroy(exec));
    CHECK(becomes(destroyed, 1));
    CU_IS(cuUserObjectRelease(object, 1), CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("a running launch keeps user objects", "[graph]") {
    const Bench bench;
    std::atomic<int> destroyed{0};
    CUuserObject object = nullptr;
    CU(cuUserObjectCreate(&object, &destroyed, count_up, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    std::atomic<bool> go{false};
    std::atomic<int> seen{-1};
    struct Wait {
        std::atomic<bool>& go;
        std::atomic<int>&seen, &destroyed;
    } wait{go, seen, destroyed};
    const CUDA_HOST_NODE_PARAMS host{[](void* data) {
                                         auto& w = *static_cast<Wait*>(data);
                                         while (!w.go) std::this_thread::yield();
                                         w.seen = w.destroyed.load();
                                     },
                                     &wait};
    const CUgraph graph = new_graph();
    CUgraphNode node = nullptr;
    CU(cuGraphAddHostNode(&node, graph, nullptr, 0, &host));
    CU(cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
    const CUgraphExec exec = executable(graph);
    CU(cuGraphDestroy(graph));
    CU(cuGraphLaunch(exec, bench.stream()));
    CU(cuGraphExecDestroy(exec));
    CHECK(destroyed == 0);
    go = true;
    CHECK(becomes(destroyed, 1));
    CHECK(seen == 0);
}

}  // namespace graph_memory_test
