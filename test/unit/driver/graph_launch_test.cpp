#include <cstring>

#include "engine/kernel_image.h"
#include "graph_bench.h"

namespace graph_launch_test {

namespace {

CUgraphNode add_host(CUgraph graph, CUhostFn function, void* data,
                     const std::vector<CUgraphNode>& after = {}) {
    const CUDA_HOST_NODE_PARAMS params{function, data};
    CUgraphNode node = nullptr;
    CU(cuGraphAddHostNode(&node, graph, after.data(), after.size(), &params));
    return node;
}

CUgraphNode add_copy(CUgraph graph, const CUDA_MEMCPY3D& copy, CUcontext context,
                     const std::vector<CUgraphNode>& after = {}) {
    CUgraphNode node = nullptr;
    CU(cuGraphAddMemcpyNode(&node, graph, after.data(), after.size(), &copy, context));
    return node;
}

char* pinned(size_t bytes) {
    void* memory = nullptr;
    CU(cuMemHostAlloc(&memory, bytes, 0));
    std::memset(memory, 0, bytes);
    return static_cast<char*>(memory);
}

}  // namespace

// a----------
//            b--------------------
//            c-----                      branches overlap
//                                 d-     after both
TEST_CASE("nodes start when all they depend on has ended", "[graph]") {
    const Bench bench;
    const CUgraph graph = new_graph();
    const CUgraphNode a = add_kernel(graph, bench.kernel("a__10us"));
    const CUgraphNode b = add_kernel(graph, bench.kernel("b__20us"), {a});
    const CUgraphNode c = add_kernel(graph, bench.kernel("c__5us"), {a});
    add_kernel(graph, bench.kernel("d__1us"), {b, c});
    const CUstream s = bench.stream();
    CU(cuGraphLaunch(executable(graph), s));
    CU(bench.launch("c__5us", s));
    const auto ran = bench.ran();
    REQUIRE(ran.size() == 5);
    const int64_t t = ran[0].enter_ns + 1000;
    const int64_t starts[] = {t, t + 10'000, t + 10'000, t + 30'000, t + 31'000};
    for (size_t i = 0; i < 5; ++i) {
        INFO("operation " << i << ", " << ran[i].name);
        CHECK(ran[i].start_ns == starts[i]);
        CHECK(ran[i].stream == ran[0].stream);
    }
}

TEST_CASE("a graph comes after what its stream has, and runs beside other streams", "[graph]") {
    const Bench bench;
    const CUgraph graph = new_graph();
    add_kernel(graph, bench.kernel("c__5us"));
    const CUgraphExec exec = executable(graph);
    const CUstream busy = bench.stream(), idle = bench.stream();
    CU(bench.launch("b__20us", busy));
    CU(cuGraphLaunch(exec, busy));
    CU(bench.launch("a__10us", idle));
    const auto ran = bench.ran();
    REQUIRE(ran.size() == 3);
    CHECK(ran[1].start_ns == ran[0].end_ns);
    CHECK(ran[2].start_ns == ran[0].start_ns);
}

TEST_CASE("launches of one executable graph do not overlap, those of two do", "[graph]") {
    const Bench bench;
    const CUgraph graph = new_graph();
    add_kernel(graph, bench.kernel("a__10us"));
    const CUgraphExec exec = executable(graph), second = executable(graph);
    CU(cuGraphLaunch(exec, bench.stream()));
    CU(cuGraphLaunch(exec, bench.stream()));
    CU(cuGraphLaunch(second, bench.stream()));
    const auto ran = bench.ran();
    REQUIRE(ran.size() == 3);
    CHECK(ran[1].start_ns == ran[0].end_ns);
    CHECK(ran[2].start_ns == ran[0].start_ns);
}

TEST_CASE("a graph on the legacy stream is a barrier to blocking streams", "[graph]") {
    const Bench bench;
    const CUgraph graph = new_graph();
    add_kernel(graph, bench.kernel("a__10us"));
    const CUstream blocking = bench.stream(CU_STREAM_DEFAULT);
    CU(bench.launch("b__20us", blocking));
    CU(cuGraphLaunch(executable(graph), nullptr));
    CU(bench.launch("c__5us", blocking));
    const auto ran = bench.ran();
    REQUIRE(ran.size() == 3);
    CHECK(ran[1].start_ns == ran[0].end_ns);
    CHECK(ran[2].start_ns == ran[1].end_ns);
}

TEST_CASE("copies and memsets of a graph move bytes, anew at each launch", "[graph]") {
    const Bench bench;
    constexpr size_t kBytes = 1024;
    const CUdeviceptr memory = bench.memory(kBytes);
    char *in = pinned(kBytes), *out = pinned(kBytes);
    const CUgraph graph = new_graph();
    const auto* device = reinterpret_cast<const void*>(memory);
    const CUDA_MEMSET_NODE_PARAMS set{memory + kBytes / 2, 0, 0x5a5a, 2, kBytes / 4, 1};
    const CUgraphNode there = add_copy(
        graph, flat_copy(CU_MEMORYTYPE_HOST, in, CU_MEMORYTYPE_DEVICE, device, kBytes), bench.context);
    CUgraphNode filled = nullptr;
    CU(cuGraphAddMemsetNode(&filled, graph, &there, 1, &set, bench.context));
    add_copy(graph, flat_copy(CU_MEMORYTYPE_DEVICE, device, CU_MEMORYTYPE_HOST, out, kBytes), bench.context,
             {filled});
    const CUgraphExec exec = executable(graph);
    const CUstream s = bench.stream();
    for (const char value : {'x', 'y'}) {
        std::memset(in, value, kBytes);
        CU(cuGraphLaunch(exec, s));
        CU(cuStreamSynchronize(s));
        CHECK(std::string(out, kBytes / 2) == std::string(kBytes / 2, value));
        CHECK(std::string(out + kBytes / 2, kBytes / 2) == std::string(kBytes / 2, 0x5a));
    }
    CHECK(bench.order() == "h2d memset d2h h2d memset d2h");
}

TEST_CASE("host nodes run each time, in their turn", "[graph]") {
    const Bench bench;
    std::string order;
    const CUgraph graph = new_graph();
    const CUgraphNode first = add_host(
        graph, [](void* text) { *static_cast<std::string*>(text) += "a"; }, &order);
    add_host(graph, [](void* text) { *static_cast<std::string*>(text) += "b"; }, &order, {first});
    const CUgraphExec exec = executable(graph);
    const CUstream s = bench.stream();
    CHECK(order.empty());
    CU(cuGraphLaunch(exec, s));
    CU(cuGraphLaunch(exec, s));
    CU(cuStreamSynchronize(s));
    CHECK(order == "abab");
}

TEST_CASE("disabled nodes do nothing but keep the order", "[graph]") {
    const Bench bench;
    const CUgraph graph = new_graph();
    const CUgraphNode a = add_kernel(graph, bench.kernel("a__10us"));
    const CUgraphNode b = add_kernel(graph, bench.kernel("b__20us"), {a});
    const CUgraphNode c = add_kernel(graph, bench.kernel("c__5us"), {b});
    const CUgraphNode host = add_host(graph, [](void*) {}, nullptr, {c});
    const CUgraphExec exec = executable(graph);
    unsigned enabled = 7;
    CU(cuGraphNodeGetEnabled(exec, b, &enabled));
    CHECK(enabled == 1);
    CU(cuGraphNodeSetEnabled(exec, b, 0));
    CU(cuGraphNodeGetEnabled(exec, b, &enabled));
    CHECK(enabled == 0);
    CU_IS(cuGraphNodeSetEnabled(exec, host, 0), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuGraphNodeSetEnabled(exec, add_kernel(graph, bench.kernel("a__10us")), 0),
          CUDA_ERROR_INVALID_VALUE);
    CU(cuGraphLaunch(exec, bench.stream()));
    const auto ran = bench.ran();
    REQUIRE(ran.size() == 3);
    CHECK(ran[1].name == "c__5us");
    CHECK(ran[1].start_ns == ran[0].end_ns);
    CU(cuGraphNodeSetEnabled(exec, b, 1));
    CU(cuGraphLaunch(exec, bench.stream()));
    CHECK(bench.order() == "a__10us c__5us host a__10us b__20us c__5us host");
}

TEST_CASE("a child graph runs as one node of its parent", "[graph]") {
    const Bench bench;
    const CUgraph child = new_graph(), parent = new_graph();
    add_kernel(child, bench.kernel("b__20us"));
    add_kernel(child, bench.kernel("c__5us"));
    const CUgraphNode before = add_kernel(parent, bench.kernel("a__10us"));
    CUgraphNode inside = nullptr;
    CU(cuGraphAddChildGraphNode(&inside, parent, &before, 1, child));
    add_kernel(parent, bench.kernel("d__1us"), {inside});
    add_kernel(child, bench.kernel("d__1us"));  // too late: the node has a clone
    CUgraph embedded = nullptr;
    CU(cuGraphChildGraphNodeGetGraph(inside, &embedded));
    CHECK(embedded != child);
    CHECK(nodes_of(embedded).size() == 2);
    CU_IS(cuGraphDestroy(embedded), CUDA_ERROR_INVALID_VALUE);
    CU(cuGraphDestroy(child));

    const CUgraphExec exec = executable(parent);
    CU(cuGraphLaunch(exec, bench.stream()));
    const auto ran = bench.ran();
    REQUIRE(ran.size() == 4);
    CHECK(ran[1].start_ns == ran[0].end_ns);
    CHECK(ran[2].start_ns == ran[0].end_ns);
    CHECK(ran[3].start_ns == ran[0].end_ns + 20'000);
    CU(cuGraphNodeSetEnabled(exec, nodes_of(embedded)[0], 0));
    CU(cuGraphLaunch(exec, bench.stream()));
    CHECK(bench.order() == "a__10us b__20us c__5us d__1us a__10us c__5us d__1us");
}

TEST_CASE("a child graph can be moved into its parent", "[graph]") {
    const Bench bench;
    const CUgraph child = new_graph(), parent = new_graph();
    add_kernel(child, bench.kernel("a__10us"));
    CUgraphNodeParams params{};
    params.type = CU_GRAPH_NODE_TYPE_GRAPH;
    params.graph.graph = child;
    params.graph.ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
    CUgraphNode inside = nullptr;
    CU_IS(cuGraphAddNode_v2(&inside, child, nullptr, nullptr, 0, &params), CUDA_ERROR_INVALID_VALUE);
    CU(cuGraphAddNode_v2(&inside, parent, nullptr, nullptr, 0, &params));
    CU_IS(cuGraphDestroy(child), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuGraphAddNode_v2(&inside, parent, nullptr, nullptr, 0, &params), CUDA_ERROR_INVALID_VALUE);
    CU(cuGraphLaunch(executable(parent), bench.stream()));
    CHECK(bench.order() == "a__10us");
    CU(cuGraphDestroy(parent));
}

TEST_CASE("event nodes record and wait at each launch", "[graph]") {
    const Bench bench;
    const CUevent start = bench.event(CU_EVENT_DEFAULT), end = bench.event(CU_EVENT_DEFAULT);
    const CUgraph graph = new_graph();
    CUgraphNode begin = nullptr, stop = nullptr;
    CU(cuGraphAddEventRecordNode(&begin, graph, nullptr, 0, start));
    const CUgraphNode a = add_kernel(graph, bench.kernel("a__10us"), {begin});
    CU(cuGraphAddEventRecordNode(&stop, graph, &a, 1, end));
    CUevent told = nullptr;
    CU(cuGraphEventRecordNodeGetEvent(stop, &told));
    CHECK(told == end);
    const CUstream s = bench.stream();
    CU(cuGraphLaunch(executable(graph), s));
    CU(cuEventSynchronize(end));
    float milliseconds = 0;
    CU(cuEventElapsedTime(&milliseconds, start, end));
    CHECK(milliseconds == Approx(0.0101));

    const CUgraph waiting = new_graph();
    CUgraphNode wait = nullptr;
    CU(cuGraphAddEventWaitNode(&wait, waiting, nullptr, 0, end));
    add_kernel(waiting, bench.kernel("d__1us"), {wait});
    const CUgraphExec waiter = executable(waiting);
    CU(bench.launch("b__20us", s));
    CU(cuEventRecord(end, s));
    CU(cuGraphLaunch(waiter, bench.stream()));
    const auto ran = bench.ran();
    REQUIRE(ran.size() == 6);
    CHECK(ran[5].name == "d__1us");
    CHECK(ran[5].start_ns == ran[4].end_ns);
}

namespace {
std::vector<uint64_t> begun;

// A kernel that somebody else executes: takes as many nanoseconds as its parameter says.
class Counted : public gpusim::Behaviour {
  public:
    explicit Counted(gpusim::Ns lasts) : lasts_(lasts) {}
    void arrive(gpusim::Ns ready_ns) override { ready_ns_ = ready_ns; }
    std::optional<gpusim::Outcome> outcome() override {
        return gpusim::Outcome{ready_ns_, ready_ns_ + lasts_, 0};
    }
    gpusim::Ns not_before() const override { return ready_ns_; }

  private:
    gpusim::Ns lasts_, ready_ns_ = 0;
};

std::shared_ptr<gpusim::Behaviour> begin(const char*, const void* parameter, int) {
    uint64_t value = 0;
    std::memcpy(&value, parameter, sizeof value);
    begun.push_back(value);
    return std::make_shared<Counted>(static_cast<gpusim::Ns>(value));
}
}  // namespace

TEST_CASE("kernels that others execute are begun anew at every launch, never at capture", "[graph]") {
    const Bench bench;
    gpusim::KernelImage image;
    image.begin = begin;
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    CU(cuModuleLoadData(&module, &image));
    CU(cuModuleGetFunction(&function, module, "collective"));
    const CUstream s = bench.stream();
    uint64_t value = 3000;
    void* parameters[] = {&value};
    CU(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CU(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, s, parameters, nullptr));
    value = 0;
    CUgraph graph = nullptr;
    CU(cuStreamEndCapture(s, &graph));
    CHECK(begun.empty());
    const CUgraphExec exec = executable(graph);
    CU(cuGraphLaunch(exec, s));
    CU(cuGraphLaunch(exec, s));
    const auto ran = bench.ran();
    CHECK(begun == std::vector<uint64_t>{3000, 3000});
    REQUIRE(ran.size() == 2);
    CHECK(ran[1].start_ns == ran[0].end_ns);
    CHECK(ran[1].end_ns - ran[1].start_ns == 3000);
}

TEST_CASE("a graph whose function has been unloaded is refused", "[graph]") {
    const Bench bench;
    const CUgraph graph = new_graph();
    add_kernel(graph, bench.kernel("a__10us"));
    const CUgraphExec exec = executable(graph);
    CU(cuModuleUnload(bench.module));
    CU_IS(cuGraphLaunch(exec, bench.stream()), CUDA_ERROR_INVALID_HANDLE);
    CU_IS(cuGraphLaunch(exec, reinterpret_cast<CUstream>(const_cast<Bench*>(&bench))),
          CUDA_ERROR_INVALID_HANDLE);
    CU_IS(cuGraphLaunch(nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace graph_launch_test
