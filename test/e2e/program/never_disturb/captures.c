// Captures, with work before, inside, beside and after them.
#include <pthread.h>
#include <string.h>

#include "program.h"

// Operations before, inside and after a capture, which takes a second stream in.
static void captured(CUstreamCaptureMode mode) {
    CUstream stream = stream_with(CU_STREAM_NON_BLOCKING), other = stream_with(CU_STREAM_DEFAULT);
    CUevent fork, back;
    CUgraph graph;
    CUgraphExec exec;
    SAY(cuEventCreate(&fork, 0));
    SAY(cuEventCreate(&back, 0));
    operations(stream, 1);
    operations(other, 2);
    SAY(cuStreamBeginCapture(stream, mode));
    operations(stream, 3);
    SAY(cuEventRecord(fork, stream));
    SAY(cuStreamWaitEvent(other, fork, 0));
    SAY(launch(other));
    usleep(150000);  // while what came before is looked at
    SAY(launch(other));
    SAY(cuEventRecord(back, other));
    SAY(launch(stream));
    SAY(cuStreamWaitEvent(stream, back, 0));
    SAY(launch(stream));
    SAY(cuStreamEndCapture(stream, &graph));
    say_graph(graph);
    SAY(cuGraphInstantiate(&exec, graph, 0));
    memset(pinned, 0, kBytes);
    for (int i = 0; i < 3; ++i) SAY(cuGraphLaunch(exec, stream));
    operations(other, 3);
    SAY(cuStreamSynchronize(stream));
    SAY(cuStreamSynchronize(other));
    say_bytes(3);
    SAY(cuThreadExchangeStreamCaptureMode(&mode));
    printf("mode of the thread: %d\n", (int)mode);
}

void capture(void) {
    captured(CU_STREAM_CAPTURE_MODE_GLOBAL);
    captured(CU_STREAM_CAPTURE_MODE_GLOBAL);
    captured(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    captured(CU_STREAM_CAPTURE_MODE_RELAXED);
}

// Threads that launch in streams of their own, while the main thread captures again and again.
static volatile int finished;
static void* launch_beside(void* number) {
    int failed = 0;
    MUST(cuCtxSetCurrent(context));
    CUstream stream = stream_with(CU_STREAM_NON_BLOCKING);
    for (int i = 0; !finished; ++i) {
        failed += launch(stream) != 0;
        if (i % 8 == 0) usleep(50);
    }
    printf("thread %d: %d failed\n", *(int*)number, failed);
    return 0;
}

void beside(void) {
    pthread_t thread;
    int number = 1, wrong = 0, failed = 0;
    CUstream stream = stream_with(CU_STREAM_NON_BLOCKING);
    pthread_create(&thread, 0, launch_beside, &number);
    for (int i = 0; i < 400; ++i) {
        CUgraph graph = 0;
        size_t count = 0;
        failed += cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL) != 0;
        for (int k = 0; k < 3; ++k) failed += launch(stream) != 0;
        if (i % 20 == 0) usleep(3000);
        failed += cuStreamEndCapture(stream, &graph) != 0;
        wrong += graph == 0 || cuGraphGetNodes(graph, 0, &count) != 0 || count != 3;
        if (graph != 0) cuGraphDestroy(graph);
        failed += launch(stream) != 0;
    }
    finished = 1;
    pthread_join(thread, 0);
    printf("%d failed, %d wrong\n", failed, wrong);
    SAY(cuCtxSynchronize());
}

// The legacy stream while a blocking stream is captured.
void legacy(void) {
    CUstream stream = stream_with(CU_STREAM_DEFAULT), apart = stream_with(CU_STREAM_NON_BLOCKING);
    CUgraph graph;
    CUstreamCaptureStatus status;
    operations(0, 1);
    operations(stream, 2);
    operations(CU_STREAM_LEGACY, 3);
    SAY(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    SAY(cuStreamIsCapturing(0, &status));
    SAY(launch(stream));
    SAY(launch(apart));
    SAY(cuStreamEndCapture(stream, &graph));
    say_graph(graph);
    SAY(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    SAY(launch(stream));
    SAY(launch(0));
    SAY(launch(stream));
    SAY(cuMemsetD8(memory, 0, kBytes));
    SAY(cuStreamEndCapture(stream, &graph));
    operations(0, 4);
    SAY(cuCtxSynchronize());
    say_bytes(4);
}

// Calls that a capture forbids are forbidden still, the others are not.
void unsafe(void) {
    for (int mode = 0; mode <= 2; ++mode) {
        CUstream stream = stream_with(CU_STREAM_NON_BLOCKING), other = stream_with(CU_STREAM_NON_BLOCKING);
        CUdeviceptr more = 0;
        CUgraph graph;
        operations(other, 1);
        SAY(cuStreamBeginCapture(stream, (CUstreamCaptureMode)mode));
        SAY(launch(stream));
        SAY(launch(other));
        SAY(cuMemAlloc(&more, kBytes));
        SAY(launch(stream));
        SAY(launch(other));
        SAY(cuStreamEndCapture(stream, &graph));
        if (more != 0) SAY(cuMemFree(more));
        SAY(cuStreamBeginCapture(stream, (CUstreamCaptureMode)mode));
        SAY(launch(stream));
        SAY(cuStreamSynchronize(other));
        SAY(cuStreamEndCapture(stream, &graph));
        SAY(cuStreamSynchronize(other));
    }
}
