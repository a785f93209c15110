"""Bodies of programs (graph_programs.py) whose calls tell what nodes hold, and what can make that untrue."""
# Declared in front of a body that captures on two streams.
SECOND_STREAM = r"""
    CUstream second;
    CUevent fork, join;
    MUST(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
    MUST(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
    MUST(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
"""
ON_TWO_STREAMS = SECOND_STREAM + r"""
    begin();
    run(a);
    MUST(cuEventRecord(fork, stream));
    MUST(cuStreamWaitEvent(second, fork, 0));
    for (int i = 0; i < 3; ++i) {
        MUST(cuLaunchKernel(b, 1, 1, 1, 32, 1, 1, 0, second, 0, 0));
        MUST(cuMemcpyDtoDAsync(data + 4096, data, 70, stream));
    }
    MUST(cuEventRecord(join, second));
    MUST(cuStreamWaitEvent(stream, join, 0));
    run(c);
    launch(instance(end()), 3);
"""

# As PyTorch's backward pass is captured.
BY_OTHER_THREADS = r"""
    pthread_t threads[4];
    begin();
    run(c);
    for (int i = 0; i < 4; ++i) {
        pthread_create(&threads[i], 0, launch_both, 0);
        pthread_join(threads[i], 0);
    }
    launch(instance(end()), 2);
    begin();
    for (int i = 0; i < 4; ++i) pthread_create(&threads[i], 0, launch_both, 0);
    for (int i = 0; i < 4; ++i) pthread_join(threads[i], 0);
    run(c);
    CUgraph both = end();
    launch(instance(both), 3);
"""

# The driver's list of nodes goes with each call on the stream, also with those of other threads.
BY_THREADS_AT_ONE_TIME = r"""
    pthread_t threads[4];
    begin();
    for (int i = 0; i < 4; ++i) pthread_create(&threads[i], 0, launch_often, 0);
    for (int i = 0; i < 4; ++i) pthread_join(threads[i], 0);
    launch(instance(end()), 2);
"""

CAPTURED_AND_CHANGED = r"""
    CUDA_KERNEL_NODE_PARAMS params = kernel(c), change = kernel(b);
    CUDA_MEMCPY3D shape = copy(60);
    begin();
    run(a);
    CUgraphNode first = last_captured();
    run(b);
    CUgraphNode second = last_captured();
    MUST(cuMemcpyDtoDAsync(data + 4096, data, 70, stream));
    CUgraphNode third = last_captured();
    run(a);
    CUgraph graph = end();
    CUgraphExec exec = instance(graph);
    launch(exec, 1);
    MUST(cuGraphKernelNodeSetParams(first, &params));
    MUST(cuGraphMemcpyNodeSetParams(third, &shape));
    update(exec, graph);
    launch(exec, 2);
    MUST(cuGraphDestroyNode(second));
    launch(instance(graph), 4);
    MUST(cuGraphExecKernelNodeSetParams(exec, first, &change));
    launch(exec, 8);
"""

# A collective is its own call, and the launch in it another one.
WITH_COLLECTIVES = r"""
    ncclComm_t comms[2];
    CUstream streams[2] = {stream};
    CUgraphExec execs[2];
    CUdeviceptr memory[2] = {data};
    for (int rank = 0; rank < 2; ++rank) {
        CUcontext its;
        MUST(cuDevicePrimaryCtxRetain(&its, rank));
        MUST(cuCtxSetCurrent(its));
        if (rank == 1) MUST(cuStreamCreate(&streams[1], CU_STREAM_NON_BLOCKING));
        if (rank == 1) MUST(cuMemAlloc(&memory[1], 1 << 20));
    }
    if (ncclCommInitAll(comms, 2, 0)) return 2;
    for (int rank = 0; rank < 2; ++rank) {
        CUcontext its;
        MUST(cuDevicePrimaryCtxRetain(&its, rank));
        MUST(cuCtxSetCurrent(its));
        MUST(cuStreamBeginCapture(streams[rank], CU_STREAM_CAPTURE_MODE_RELAXED));
        for (int i = 0; i < 3; ++i) {
            void* place = (void*)memory[rank];
            if (ncclAllReduce(place, place, 1000, ncclInt32, ncclSum, comms[rank], streams[rank])) return 3;
            if (rank == 0) run(i % 2 ? a : b);
            MUST(cuMemcpyDtoDAsync(memory[rank] + 8192, memory[rank], 40, streams[rank]));
        }
        CUgraph graph;
        MUST(cuStreamEndCapture(streams[rank], &graph));
        execs[rank] = instance(graph);
    }
    for (int rank = 0; rank < 2; ++rank) MUST(cuGraphLaunch(execs[rank], streams[rank]));
    for (int rank = 0; rank < 2; ++rank) MUST(cuStreamSynchronize(streams[rank]));
    MUST(cuDevicePrimaryCtxRetain(&context, 0));
    MUST(cuCtxSetCurrent(context));
"""

# Version 14000 of any name is a function that is no export.
NEWER_DRIVER = r"""
#include <dlfcn.h>
static int newest(void) { return 0; }
typedef int Ask(const char*, void**, int, unsigned long long, int*);
int cuGetProcAddress_v2(const char* name, void** found, int version, unsigned long long flags, int* status) {
    if (version < 14000)
        return ((Ask*)dlsym(RTLD_NEXT, "cuGetProcAddress_v2"))(name, found, version, flags, status);
    *found = (void*)newest;
    return 0;
}
"""
PAST_THE_HOOKS = r"""
    void* newest = 0;
    MUST(cuGetProcAddress("cuGraphNodeSetParams", &newest, 14000, 0, 0));
"""

# What is in the way of one has its memory again, and other nodes in it.
CAPTURED_IN_VAIN = r"""
    for (int round = 0; round < 20; ++round) {
        CUgraph graph = 0;
        begin();
        for (int i = 0; i <= round; ++i) run(a);
        MUST(cuMemAllocAsync(&(CUdeviceptr){0}, 64, stream));
        printf("%d\n", cuStreamSynchronize(stream));
        printf("%d\n", cuStreamEndCapture(stream, &graph));
        CUgraph made = copied(chain(b, c, 10 + round));
        launch(instance(made), 1);
        MUST(cuStreamSynchronize(stream));
        MUST(cuGraphDestroy(made));
    }
"""

CAPTURED_INTO = r"""
    CUgraph graph = chain(a, b, 100);
    MUST(cuStreamBeginCaptureToGraph(stream, graph, 0, 0, 0, CU_STREAM_CAPTURE_MODE_RELAXED));
    run(c);
    MUST(cuMemcpyDtoDAsync(data + 4096, data, 30, stream));
    end();
    launch(instance(graph), 2);
    add_kernel(graph, c, 0);
    launch(instance(graph), 3);
"""

NOTHING_IS_NO_NODE = r"""
    begin();
    run(a);
    MUST(cuMemcpyDtoDAsync(data + 4096, data, 0, stream));
    run(b);
    MUST(cuMemsetD8Async(data, 1, 0, stream));
    run(c);
    CUgraphNode last = last_captured();
    run(a);
    MUST(cuStreamUpdateCaptureDependencies(stream, &last, 0, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
    run(b);
    launch(instance(end()), 2);
"""

OF_ANY_KIND = r"""
    CUgraph graph, child = chain(a, b, 40);
    CUgraphNode node;
    CUgraphNodeParams any;
    MUST(cuGraphCreate(&graph, 0));
    memset(&any, 0, sizeof any);
    any.type = CU_GRAPH_NODE_TYPE_KERNEL;
    any.kernel.func = b;
    any.kernel.gridDimX = any.kernel.gridDimY = any.kernel.gridDimZ = 1;
    any.kernel.blockDimX = any.kernel.blockDimY = any.kernel.blockDimZ = 1;
    MUST(cuGraphAddNode(&node, graph, 0, 0, 0, &any));
    any.kernel.func = c;
    MUST(cuGraphAddNode(&node, graph, 0, 0, 0, &any));
    any.kernel.func = a;
    MUST(cuGraphNodeSetParams(node, &any));
    memset(&any, 0, sizeof any);
    any.type = CU_GRAPH_NODE_TYPE_MEMCPY;
    any.memcpy.copyCtx = context;
    any.memcpy.copyParams = copy(90);
    MUST(cuGraphAddNode(&node, graph, 0, 0, 0, &any));
    memset(&any, 0, sizeof any);
    any.type = CU_GRAPH_NODE_TYPE_MEMSET;
    any.memset.dst = data;
    any.memset.elementSize = 4;
    any.memset.width = 256;
    any.memset.height = 1;
    any.memset.ctx = context;
    MUST(cuGraphAddNode(&node, graph, 0, 0, 0, &any));
    memset(&any, 0, sizeof any);
    any.type = CU_GRAPH_NODE_TYPE_GRAPH;
    any.graph.graph = child;
    MUST(cuGraphAddNode(&node, graph, 0, 0, 0, &any));
    launch(instance(graph), 3);
    launch(instance(child), 1);
"""
