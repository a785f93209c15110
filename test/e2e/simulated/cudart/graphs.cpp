// Captured and hand-made graphs do what their nodes say, once for each launch.
#include <vector>

#include "check.h"

#define IMAGE_CODE                                    \
    ".version 8.0\n.target sm_90\n.address_size 64\n" \
    ".visible .entry captured__20us() { ret; }\n.visible .entry placed__30us() { ret; }\n"
#include "image.h"

KERNEL(captured__20us)
KERNEL(placed__30us)

namespace {

cudaStream_t stream() {
    cudaStream_t made = nullptr;
    OK(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking));
    return made;
}

void run(cudaGraph_t graph, int times) {
    const cudaStream_t on = stream();
    cudaGraphExec_t executable = nullptr;
    OK(cudaGraphInstantiate(&executable, graph, 0));
    for (int i = 0; i < times; ++i) OK(cudaGraphLaunch(executable, on));
    OK(cudaStreamSynchronize(on));
    OK(cudaGraphExecDestroy(executable));
    OK(cudaStreamDestroy(on));
}

cudaStreamCaptureStatus status_of(cudaStream_t of) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusInvalidated;
    OK(cudaStreamIsCapturing(of, &status));
    return status;
}

// captured, captured, fill, copy: nothing happens until the graph is launched.
void a_captured_stream(int times) {
    const cudaStream_t capturing = stream();
    int *device = nullptr, *back = nullptr;
    cudaGraph_t graph = nullptr;
    std::size_t nodes = 0;
    OK(cudaMalloc(reinterpret_cast<void**>(&device), sizeof(int)));
    OK(cudaMallocHost(reinterpret_cast<void**>(&back), sizeof(int)));
    *back = 0;
    CHECK(status_of(capturing) == cudaStreamCaptureStatusNone);
    OK(cudaStreamBeginCapture(capturing, cudaStreamCaptureModeGlobal));
    CHECK(status_of(capturing) == cudaStreamCaptureStatusActive);
    for (int i = 0; i < 2; ++i)
        OK(cudaLaunchKernel(&captured__20us, dim3(1), dim3(1), nullptr, 0, capturing));
    OK(cudaMemsetAsync(device, 3, sizeof(int), capturing));
    OK(cudaMemcpyAsync(back, device, sizeof(int), cudaMemcpyDeviceToHost, capturing));
    OK(cudaStreamEndCapture(capturing, &graph));
    OK(cudaGraphGetNodes(graph, nullptr, &nodes));
    CHECK(nodes == 4);
    CHECK(*back == 0);
    run(graph, times);
    CHECK(*back == 0x03030303);
    OK(cudaGraphDestroy(graph));
}

// A second stream that waits for an event of the capture joins it.
void a_capture_over_two_streams() {
    const cudaStream_t origin = stream(), joined = stream();
    cudaEvent_t fork = nullptr, join = nullptr;
    cudaGraph_t graph = nullptr;
    std::size_t edges = 0;
    OK(cudaEventCreate(&fork));
    OK(cudaEventCreate(&join));
    OK(cudaStreamBeginCapture(origin, cudaStreamCaptureModeThreadLocal));
    OK(cudaLaunchKernel(&captured__20us, dim3(1), dim3(1), nullptr, 0, origin));
    OK(cudaEventRecord(fork, origin));
    OK(cudaStreamWaitEvent(joined, fork, 0));
    CHECK(status_of(joined) == cudaStreamCaptureStatusActive);
    OK(cudaLaunchKernel(&captured__20us, dim3(1), dim3(1), nullptr, 0, joined));
    OK(cudaEventRecord(join, joined));
    OK(cudaStreamWaitEvent(origin, join, 0));
    OK(cudaLaunchKernel(&captured__20us, dim3(1), dim3(1), nullptr, 0, origin));
    OK(cudaStreamEndCapture(origin, &graph));
    OK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
    CHECK(edges >= 2);
    OK(cudaGraphDestroy(graph));
}

void an_unsafe_call_ends_a_capture() {
    const cudaStream_t capturing = stream();
    cudaGraph_t graph = nullptr;
    void* pointer = nullptr;
    OK(cudaStreamBeginCapture(capturing, cudaStreamCaptureModeGlobal));
    IS(cudaErrorStreamCaptureUnsupported, cudaMalloc(&pointer, 100));
    IS(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(capturing, &graph));
    OK(cudaMalloc(&pointer, 100));
}

cudaKernelNodeParams kernel_node() {
    cudaKernelNodeParams kernel{};
    kernel.func = const_cast<char*>(&placed__30us);
    kernel.gridDim = dim3(2);
    kernel.blockDim = dim3(32);
    return kernel;
}

int host_calls = 0;

//  fill --> copy --> host
//  kernel ----------/
void a_graph_made_by_hand(int times) {
    cudaGraph_t graph = nullptr;
    cudaGraphNode_t fill_node, copy_node, kernel, host;
    int *device = nullptr, *back = nullptr;
    OK(cudaMalloc(reinterpret_cast<void**>(&device), sizeof(int)));
    OK(cudaMallocHost(reinterpret_cast<void**>(&back), sizeof(int)));
    OK(cudaGraphCreate(&graph, 0));
    cudaMemsetParams fill{};
    fill.dst = device;
    fill.value = 5;
    fill.elementSize = 1;
    fill.width = sizeof(int);
    fill.height = 1;
    OK(cudaGraphAddMemsetNode(&fill_node, graph, nullptr, 0, &fill));
    OK(cudaGraphAddMemcpyNode1D(&copy_node, graph, &fill_node, 1, back, device, sizeof(int),
                                cudaMemcpyDeviceToHost));
    const cudaKernelNodeParams placed = kernel_node();
    OK(cudaGraphAddKernelNode(&kernel, graph, nullptr, 0, &placed));
    const cudaGraphNode_t before_host[] = {copy_node, kernel};
    cudaHostNodeParams counting{[](void* count) { ++*static_cast<int*>(count); }, &host_calls};
    OK(cudaGraphAddHostNode(&host, graph, before_host, 2, &counting));

    cudaKernelNodeParams seen{};
    OK(cudaGraphKernelNodeGetParams(kernel, &seen));
    CHECK(seen.func == placed.func && seen.gridDim.x == 2 && seen.blockDim.x == 32);
    cudaGraphNodeType type;
    OK(cudaGraphNodeGetType(copy_node, &type));
    CHECK(type == cudaGraphNodeTypeMemcpy);
    run(graph, times);
    CHECK(*back == 0x05050505);
    CHECK(host_calls == times);
    OK(cudaGraphDestroy(graph));
}

// A node of any type, a graph inside a graph, and a copy of it all.
void a_graph_in_a_graph() {
    cudaGraph_t inner = nullptr, outer = nullptr, copy = nullptr;
    cudaGraphNode_t node, child;
    std::size_t nodes = 0;
    OK(cudaGraphCreate(&inner, 0));
    OK(cudaGraphCreate(&outer, 0));
    cudaGraphNodeParams any{};
    any.type = cudaGraphNodeTypeKernel;
    any.kernel.func = const_cast<char*>(&placed__30us);
    any.kernel.gridDim = dim3(1);
    any.kernel.blockDim = dim3(1);
    OK(cudaGraphAddNode(&node, inner, nullptr, nullptr, 0, &any));
    OK(cudaGraphAddChildGraphNode(&child, outer, nullptr, 0, inner));
    OK(cudaGraphClone(&copy, outer));
    OK(cudaGraphGetNodes(copy, nullptr, &nodes));
    CHECK(nodes == 1);
    run(copy, 1);
    OK(cudaGraphDestroy(copy));
    OK(cudaGraphDestroy(outer));
    OK(cudaGraphDestroy(inner));
}

void an_executable_graph_changes() {
    cudaGraph_t graph = nullptr;
    cudaGraphNode_t node;
    cudaGraphExec_t executable = nullptr;
    OK(cudaGraphCreate(&graph, 0));
    cudaKernelNodeParams kernel = kernel_node();
    OK(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &kernel));
    OK(cudaGraphInstantiate(&executable, graph, 0));
    kernel.gridDim = dim3(9);
    OK(cudaGraphExecKernelNodeSetParams(executable, node, &kernel));
    OK(cudaGraphKernelNodeSetParams(node, &kernel));
    cudaGraphExecUpdateResultInfo result;
    OK(cudaGraphExecUpdate(executable, graph, &result));
    CHECK(result.result == cudaGraphExecUpdateSuccess);
    const cudaStream_t on = stream();
    OK(cudaGraphLaunch(executable, on));
    OK(cudaStreamSynchronize(on));
    OK(cudaGraphExecDestroy(executable));
    OK(cudaGraphDestroy(graph));
}

}  // namespace

// Launches on the device in all: captured 2 x 3, placed 4 + 1 + 1.
int main() {
    a_captured_stream(3);
    a_capture_over_two_streams();
    an_unsafe_call_ends_a_capture();
    a_graph_made_by_hand(4);
    a_graph_in_a_graph();
    an_executable_graph_changes();
}
