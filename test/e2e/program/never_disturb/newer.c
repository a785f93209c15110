// What drivers after CUDA 13.0 can do; declared here, for the header may be older.
#include <dlfcn.h>
#include <string.h>

#include "program.h"

static void* driver_function(const char* name) {
    void* found = 0;
    MUST(cuGetProcAddress(name, &found, 13050, CU_GET_PROC_ADDRESS_DEFAULT, 0));
    if (found == 0) printf("no %s\n", name), exit(9);
    return found;
}

static void count_up(void* number) { ++*(int*)number; }

typedef struct {
    struct {
        unsigned type;
        CUdeviceptr address;
        CUmemLocation hint;
    } source, target;
    size_t bytes;
    unsigned flags;
} FabricCopy;

void newer(void) {
    CUresult (*copy)(CUdeviceptr, CUdeviceptr, size_t, CUmemcpyAttributes*, CUstream) =
        driver_function("cuMemcpyWithAttributesAsync");
    CUresult (*copy_3d)(CUDA_MEMCPY3D_BATCH_OP*, unsigned long long, CUstream) =
        driver_function("cuMemcpy3DWithAttributesAsync");
    CUresult (*copy_far)(size_t, FabricCopy*, unsigned long long, CUstream) =
        driver_function("cuFabricCpyBatchAsync");
    CUresult (*call)(CUstream, CUhostFn, void*, unsigned) = driver_function("cuLaunchHostFunc");
    CUresult (*begin)(CUstream, CUstreamCaptureMode, CUgraph, void*, void*) =
        driver_function("cuStreamBeginRecaptureToGraph");
    CUstream stream = stream_with(CU_STREAM_NON_BLOCKING);
    CUmemcpyAttributes attributes = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
    const CUdeviceptr half = memory + kBytes / 2;
    operations(stream, 1);
    SAY(copy(half, memory, 1001, &attributes, stream));
    CUDA_MEMCPY3D_BATCH_OP box = {.extent = {1002, 1, 1}, .srcAccessOrder = attributes.srcAccessOrder};
    box.src.type = box.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    box.src.op.ptr.ptr = memory;
    box.dst.op.ptr.ptr = half;
    SAY(copy_3d(&box, 0, stream));
    SAY(copy_3d(0, 0, stream));
    FabricCopy far[2] = {{{1, memory}, {1, half}, 1003, 0}, {{1, memory}, {1, half}, 1004, 0}};
    SAY(copy_far(2, far, 0, stream));
    int called = 0;
    SAY(call(stream, count_up, &called, 0));
    SAY(cuStreamSynchronize(stream));
    printf("called %d times\n", called);
    CUgraph graph;
    SAY(cuGraphCreate(&graph, 0));
    SAY(begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL, graph, 0, 0));
    for (int i = 0; i < 3; ++i) SAY(launch(stream));
    SAY(cuStreamEndCapture(stream, &graph));
    say_graph(graph);
    operations(stream, 2);
    SAY(cuStreamSynchronize(stream));
    say_bytes(2);
}

// A graph of one node, which becomes another before it is launched; then what the box refuses.
void newer_forms(void) {
    CUresult (*add)(CUgraphNode*, CUgraph, const CUgraphNode*, const CUgraphEdgeData*, size_t,
                    CUgraphNodeParams*) = driver_function("cuGraphAddNode");
    CUresult (*set)(CUgraphNode, CUgraphNodeParams*) = driver_function("cuGraphNodeSetParams");
    CUresult (*begin)(CUstream, void*) = driver_function("cuStreamBeginCaptureToCig");
    CUresult (*end)(CUstream) = driver_function("cuStreamEndCaptureToCig");
    CUresult (*bind)(unsigned long long, CUdevice, size_t, unsigned long long, size_t, size_t,
                     unsigned long long) = driver_function("cuMulticastBindMem");
    CUresult (*bind_at)(unsigned long long, CUdevice, size_t, CUdeviceptr, size_t, unsigned long long) =
        driver_function("cuMulticastBindAddr");
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_KERNEL};
    params.kernel.func = kernel("first__2us");
    params.kernel.gridDimX = params.kernel.gridDimY = params.kernel.gridDimZ = 1;
    params.kernel.blockDimX = params.kernel.blockDimY = params.kernel.blockDimZ = 1;
    CUstream stream = stream_with(CU_STREAM_NON_BLOCKING);
    CUgraph graph;
    CUgraphNode node;
    CUgraphExec exec;
    SAY(cuGraphCreate(&graph, 0));
    SAY(add(&node, graph, 0, 0, 0, &params));
    params.kernel.func = kernel("second__3us");
    SAY(set(node, &params));
    SAY(cuGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 3; ++i) SAY(cuGraphLaunch(exec, stream));
    SAY(begin(stream, 0));
    SAY(end(stream));
    SAY(bind(1, 0, 0, 2, 0, kBytes, 0));
    SAY(bind_at(1, 0, 0, memory, kBytes, 0));
    operations(stream, 3);
    SAY(cuStreamSynchronize(stream));
    say_bytes(3);
}

// A capture that nobody in front of the driver sees begin: by a library that looks past all of them.
void hidden(void) {
    void* past = dlopen(getenv("PAST_ALL"), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    if (past == 0) printf("%s\n", dlerror()), exit(9);
    CUresult (*begin)(CUstream) = dlsym(past, "begin_capture");
    CUstream stream = stream_with(CU_STREAM_NON_BLOCKING);
    for (int i = 0; i < 5; ++i) {
        CUgraph graph;
        operations(stream, (char)i);
        SAY(begin(stream));
        for (int k = 0; k < 3; ++k) SAY(launch(stream));
        SAY(cuStreamEndCapture(stream, &graph));
        say_graph(graph);
    }
    operations(stream, 7);
    SAY(cuStreamSynchronize(stream));
    say_bytes(7);
}
