"""Programs in C that make, change and launch graphs."""
import told_graph_programs

PROGRAM = r"""
#include "one_gpu.h"
#include <cudaProfiler.h>
#include <pthread.h>
#include <string.h>
static CUstream stream;
static CUfunction a, b, c;
static CUdeviceptr data;
static CUgraphNode nodes[16];

static CUDA_KERNEL_NODE_PARAMS kernel(CUfunction function) {
    CUDA_KERNEL_NODE_PARAMS node = {.func = function, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1,
                                    .blockDimX = 32, .blockDimY = 1, .blockDimZ = 1};
    return node;
}
static CUDA_MEMCPY3D copy(size_t bytes) {
    CUDA_MEMCPY3D node;
    memset(&node, 0, sizeof node);
    node.srcMemoryType = node.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    node.srcDevice = data;
    node.dstDevice = data + 65536;
    node.WidthInBytes = bytes;
    node.Height = node.Depth = 1;
    return node;
}
static CUgraphNode add_kernel(CUgraph graph, CUfunction function, CUgraphNode after) {
    CUgraphNode node;
    CUDA_KERNEL_NODE_PARAMS params = kernel(function);
    MUST(cuGraphAddKernelNode(&node, graph, &after, after != 0, &params));
    return node;
}
static CUgraphNode add_copy(CUgraph graph, size_t bytes, CUgraphNode after) {
    CUgraphNode node;
    CUDA_MEMCPY3D params = copy(bytes);
    MUST(cuGraphAddMemcpyNode(&node, graph, &after, after != 0, &params, context));
    return node;
}
static CUgraphNode add_child(CUgraph graph, CUgraph child, CUgraphNode after) {
    CUgraphNode node;
    MUST(cuGraphAddChildGraphNode(&node, graph, &after, after != 0, child));
    return node;
}
static CUgraph chain(CUfunction first, CUfunction second, size_t bytes) {
    CUgraph graph;
    MUST(cuGraphCreate(&graph, 0));
    nodes[0] = add_kernel(graph, first, 0);
    nodes[1] = add_kernel(graph, second, nodes[0]);
    nodes[2] = add_copy(graph, bytes, nodes[1]);
    return graph;
}
// Of its nodes no call says what they hold.
static CUgraph copied(CUgraph graph) {
    CUgraph copy;
    MUST(cuGraphClone(&copy, graph));
    return copy;
}
static CUgraphExec instance(CUgraph graph) {
    CUgraphExec exec;
    MUST(cuGraphInstantiate(&exec, graph, 0));
    return exec;
}
static void launch(CUgraphExec exec, int times) {
    while (times-- > 0) MUST(cuGraphLaunch(exec, stream));
}
static void run(CUfunction function) { launch_one(function, stream); }
static void begin(void) { MUST(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED)); }
static CUgraph end(void) {
    CUgraph graph;
    MUST(cuStreamEndCapture(stream, &graph));
    return graph;
}
static CUgraphNode last_captured(void) {
    CUstreamCaptureStatus status;
    const CUgraphNode* front;
    const CUgraphEdgeData* edges;
    size_t count;
    MUST(cuStreamGetCaptureInfo_v3(stream, &status, 0, 0, &front, &edges, &count));
    return front[0];
}
static void* launch_both(void* unused) {
    MUST(cuCtxSetCurrent(context));
    run(a);
    run(b);
    return unused;
}
static void* launch_often(void* unused) {
    for (int i = 0; i < 4000; ++i) launch_both(unused);
    return unused;
}
static void update(CUgraphExec exec, CUgraph graph) {
    CUgraphExecUpdateResultInfo info;
    printf("update %d\n", cuGraphExecUpdate(exec, graph, &info));
}
int main(void) {
    MUST(cuInit(0));
    BEFORE
    open_gpu();
    stream = new_stream();
    a = kernel_of("a__3us");
    b = kernel_of("b__5us");
    c = kernel_of("c__7us");
    MUST(cuMemAlloc(&data, 1 << 20));
    {BODY}
    MUST(cuCtxSynchronize());
    printf("done\n");
    return 0;
}
"""

CAPTURED = r"""
    CUgraph graph;
    CUgraphExec exec;
    MUST(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    run(a); run(b); run(a);
    MUST(cuMemcpyDtoDAsync(data + 4096, data, 1000, stream));
    MUST(cuMemsetD8Async(data, 1, 4096, stream));
    MUST(cuStreamEndCapture(stream, &graph));
    MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
    launch(exec, 4);
    run(b);
"""

INSTANTIATED_IN_A_CAPTURE = r"""
    CUgraph graph, other = chain(a, b, 100);
    MUST(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    run(a);
    CUgraphExec exec = instance(other);
    run(c);
    MUST(cuStreamEndCapture(stream, &graph));
    launch(instance(graph), 2);
    launch(exec, 3);
"""

LAUNCHED_INTO_A_CAPTURE = r"""
    CUgraph graph;
    CUgraphExec inner = instance(chain(a, b, 100));
    MUST(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    run(c);
    launch(inner, 2);
    MUST(cuStreamEndCapture(stream, &graph));
    launch(instance(graph), 3);
    launch(inner, 1);
"""

EXPLICIT = r"""
    CUgraph graph = chain(a, b, 12345);
    CUgraphNode node;
    CUDA_KERNEL_NODE_PARAMS params = kernel(c);
    CUDA_MEMSET_NODE_PARAMS set = {.dst = data, .elementSize = 4, .width = 256, .height = 1};
    MUST(cuGraphAddMemsetNode(&node, graph, 0, 0, &set, context));
    MUST(cuGraphAddEmptyNode(&node, graph, 0, 0));
    MUST(cuGraphKernelNodeSetParams(nodes[0], &params));
    CUgraphExec exec = instance(graph);
    MUST(cuGraphDestroy(graph));
    launch(exec, 3);
"""

WITH_PARAMS = r"""
    CUgraphExec exec;
    CUDA_GRAPH_INSTANTIATE_PARAMS params;
    memset(&params, 0, sizeof params);
    MUST(cuGraphInstantiateWithParams(&exec, chain(a, a, 10), &params));
    launch(exec, 2);
"""

CLONED = r"""
    CUgraph clone, graph = chain(a, b, 500);
    MUST(cuGraphClone(&clone, graph));
    CUDA_KERNEL_NODE_PARAMS params = kernel(c);
    MUST(cuGraphKernelNodeSetParams(nodes[1], &params));
    launch(instance(graph), 2);
    launch(instance(clone), 3);
"""

CHILDREN = r"""
    CUgraph inner = chain(a, b, 100), middle = chain(b, b, 200), graph = chain(c, c, 300);
    add_child(middle, inner, 0);
    add_child(middle, inner, 0);
    CUgraphNode child = add_child(graph, middle, 0);
    CUgraphExec exec = instance(graph);
    launch(exec, 2);
    CUgraph other = chain(a, a, 400);
    add_child(other, inner, 0);
    add_child(other, chain(c, c, 50), 0);
    MUST(cuGraphExecChildGraphNodeSetParams(exec, child, other));
    launch(exec, 5);
"""

UPDATED = r"""
    CUgraphExec exec = instance(chain(a, b, 100));
    launch(exec, 1);
    update(exec, chain(b, c, 2000));
    launch(exec, 2);
    update(exec, chain(a, b, 100));
    launch(exec, 3);
    CUgraph other = chain(c, c, 5);
    add_kernel(other, c, 0);
    update(exec, other);
    launch(exec, 4);
"""

UPDATED_IN_PLACE = r"""
    CUgraph graph = chain(a, b, 100);
    CUgraphNode first = nodes[0];
    CUgraphExec exec = instance(graph);
    MUST(cuGraphNodeSetEnabled(exec, first, 0));
    launch(exec, 1);
    CUDA_KERNEL_NODE_PARAMS params = kernel(c);
    MUST(cuGraphKernelNodeSetParams(nodes[1], &params));
    update(exec, graph);
    launch(exec, 2);
    MUST(cuGraphNodeSetEnabled(exec, first, 1));
    launch(exec, 4);
"""

DISABLED = r"""
    CUgraph inner = chain(a, a, 50), graph = chain(a, b, 100);
    CUgraphNode first = nodes[0], copied = nodes[2], child = add_child(graph, inner, 0), in_child[4];
    size_t count = 4;
    CUgraph held;
    MUST(cuGraphChildGraphNodeGetGraph(child, &held));
    MUST(cuGraphGetNodes(held, in_child, &count));
    CUgraphExec exec = instance(graph);
    for (int round = 0; round < 40; ++round) {
        MUST(cuGraphNodeSetEnabled(exec, first, round % 2));
        launch(exec, 1);
    }
    MUST(cuGraphNodeSetEnabled(exec, copied, 0));
    MUST(cuGraphNodeSetEnabled(exec, in_child[0], 0));
    launch(exec, 3);
    printf("%d\n", cuGraphNodeSetEnabled(exec, child, 0));
"""

PARAMS_CHANGED = r"""
    CUgraph graph = chain(a, b, 100);
    CUgraphExec exec = instance(graph), other = instance(graph);
    CUDA_KERNEL_NODE_PARAMS params = kernel(c);
    CUDA_MEMCPY3D shape = copy(7000);
    CUgraphNodeParams any;
    MUST(cuGraphExecKernelNodeSetParams(exec, nodes[0], &params));
    launch(exec, 1);
    MUST(cuGraphExecMemcpyNodeSetParams(exec, nodes[2], &shape, context));
    launch(exec, 2);
    memset(&any, 0, sizeof any);
    any.type = CU_GRAPH_NODE_TYPE_KERNEL;
    any.kernel.func = c;
    any.kernel.gridDimX = any.kernel.gridDimY = any.kernel.gridDimZ = 1;
    any.kernel.blockDimX = any.kernel.blockDimY = any.kernel.blockDimZ = 1;
    MUST(cuGraphExecNodeSetParams(exec, nodes[1], &any));
    memset(&any, 0, sizeof any);
    any.type = CU_GRAPH_NODE_TYPE_MEMCPY;
    any.memcpy.copyCtx = context;
    any.memcpy.copyParams = copy(90);
    MUST(cuGraphExecNodeSetParams(exec, nodes[2], &any));
    launch(exec, 4);
    launch(other, 8);
    printf("%d\n", cuGraphExecKernelNodeSetParams(exec, nodes[2], &params));
    launch(exec, 16);
"""

REUSED = r"""
    for (int round = 1; round <= 20; ++round) {
        CUgraph graph = chain(round % 2 ? a : b, round % 3 ? b : c, round);
        CUgraphExec exec = instance(graph);
        launch(exec, round);
        MUST(cuStreamSynchronize(stream));
        MUST(cuGraphExecDestroy(exec));
        MUST(cuGraphDestroy(graph));
    }
"""

LARGE = r"""
    CUgraph graph;
    MUST(cuGraphCreate(&graph, 0));
    for (int i = 0; i < 20000; ++i) add_kernel(graph, i % 3 ? a : b, 0);
    launch(instance(graph), 2);
"""

TOO_LARGE = LARGE.replace("20000", "65537")

# Another graph's nodes take the places of nodes of which one is off: only the driver knows which.
UPDATED_WHILE_DISABLED = r"""
    CUgraph graph = chain(a, b, 100);
    CUgraphNode first = nodes[0];
    CUgraphExec exec = instance(graph);
    MUST(cuGraphNodeSetEnabled(exec, first, 0));
    update(exec, chain(b, c, 100));
    launch(exec, 1);
    MUST(cuGraphNodeSetEnabled(exec, first, 1));
    launch(exec, 2);
"""

# The kernels were loaded before anything is recorded, and are not launched by themselves.
NEVER_LAUNCHED_BEFORE = r"""
    CUlibrary library;
    CUkernel early;
    MUST(cuLibraryLoadData(&library, "an image", 0, 0, 0, 0, 0, 0));
    MUST(cuLibraryGetKernel(&early, library, "early__9us"));
"""
NEVER_LAUNCHED = r"""
    CUkernel late;
    CUlibrary other;
    MUST(cuLibraryLoadData(&other, "an image", 0, 0, 0, 0, 0, 0));
    MUST(cuLibraryGetKernel(&late, other, "late__9us"));
    CUgraph graph = chain((CUfunction)late, a, 1);
    launch(instance(graph), 2);
"""

ASKED = r"""
    CUgraph graph = chain(a, b, 100);
    add_child(graph, chain(b, c, 200), 0);
    launch(instance(copied(graph)), 2);
    launch(instance(copied(graph)), 3);
"""

# Of all their nodes calls have said what they hold.
KNOWN = r"""
    CUgraph captured, made = chain(a, b, 100);
    CUDA_MEMSET_NODE_PARAMS set = {.dst = data, .elementSize = 4, .width = 256, .height = 1};
    MUST(cuGraphAddMemsetNode(&nodes[3], made, 0, 0, &set, context));
    MUST(cuGraphAddEmptyNode(&nodes[4], made, 0, 0));
    begin();
    for (int i = 0; i < 100; ++i) run(i % 2 ? a : b);
    MUST(cuMemcpyDtoDAsync(data + 4096, data, 1000, stream));
    MUST(cuMemsetD8Async(data, 1, 4096, stream));
    captured = end();
    CUgraphExec exec = instance(captured);
    launch(exec, 1);
    update(exec, captured);
    launch(exec, 2);
    launch(instance(made), 4);
"""

BEFORE_THE_RANGE = r"""
    CUgraphExec exec = instance(chain(a, b, 100));
    MUST(cuGraphNodeSetEnabled(exec, nodes[0], 0));
    launch(exec, 4);
    MUST(cuProfilerStart());
    launch(exec, 2);
    MUST(cuProfilerStop());
    MUST(cuGraphNodeSetEnabled(exec, nodes[0], 1));
    launch(exec, 8);
    MUST(cuProfilerStart());
    launch(exec, 1);
    MUST(cuProfilerStop());
"""

UPDATED_FOR_EACH_TOKEN = r"""
    CUgraph graph = copied(chain(a, b, 100)), longer = chain(c, a, 100);
    CUgraphExec exec = instance(graph);
    for (int node = 3; node < 4500; ++node) add_kernel(longer, c, 0);
    for (int token = 0; token < 200; ++token) {
        MUST(cuGraphExecUpdate(exec, graph, &(CUgraphExecUpdateResultInfo){}));
        launch(exec, 1);
    }
    instance(copied(longer));
    MUST(cuGraphExecUpdate(exec, graph, &(CUgraphExecUpdateResultInfo){}));
    launch(exec, 1);
"""

# Those that are counted to the last node.
SCENARIOS = {name: body for name, body in {**globals(), **vars(told_graph_programs)}.items()
             if isinstance(body, str) and "launch(" in body
             and name not in ("PROGRAM", "TOO_LARGE", "UPDATED_WHILE_DISABLED", "ASKED", "KNOWN",
                              "BEFORE_THE_RANGE", "UPDATED_FOR_EACH_TOKEN")}
