// What a program can see of the driver around its operations: results of calls, nodes of graphs, bytes,
// memory that is free, its own events and its current context. One scenario per run; a line for each thing
// seen.
#include <cuda.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SAY(call) printf("%s: %d\n", #call, (int)(call))
#define MUST(call)                                                   \
    do {                                                             \
        const int failed = (int)(call);                              \
        if (failed != 0) printf("%s: %d\n", #call, failed), exit(9); \
    } while (0)

enum { kBytes = 4096, kPoolEvents = 100 };
static CUcontext context;
static CUfunction function;
static CUdeviceptr memory;
static char* pinned;

static int launch(CUstream stream) { return cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, 0, 0); }

static CUfunction kernel(const char* name) {
    CUmodule module;
    CUfunction made;
    MUST(cuModuleLoadData(&module, "an image"));
    MUST(cuModuleGetFunction(&made, module, name));
    return made;
}

// How often the driver was asked for something, by whomever.
static unsigned long calls_of(const char* name) {
    char path[512];
    struct {
        char name[72];
        unsigned long entered, returned, nested;
    } record;
    unsigned long found = 0;
    snprintf(path, sizeof path, "%s.counts", getenv("GPUSIM_TRUTH"));
    FILE* counts = fopen(path, "r");
    while (counts != 0 && fread(&record, sizeof record, 1, counts) == 1 && record.name[0] != 0)
        if (strcmp(record.name, name) == 0) found = record.entered;
    if (counts != 0) fclose(counts);
    return found;
}

// Where somebody makes events beside the program: until he has made some for the current context, and records
// them around launches.
static void wait_for_company(CUstream stream) {
    const unsigned long before = calls_of("cuEventCreate");
    if (getenv("COMPANY") == 0) return;
    for (int i = 0; i < 5000 && calls_of("cuEventCreate") < before + kPoolEvents; ++i) {
        if (i % 10 == 0) launch(stream);
        usleep(1000);
    }
    for (int i = 0, seen = 0; i < 300 && seen < 3; ++i) {
        const unsigned long records = calls_of("cuEventRecord");
        launch(stream);
        seen = calls_of("cuEventRecord") > records ? seen + 1 : 0;
        usleep(1000);
    }
}

static void start(void) {
    MUST(cuInit(0));
    MUST(cuDevicePrimaryCtxRetain(&context, 0));
    MUST(cuCtxSetCurrent(context));
    function = kernel("work__20us");
    MUST(cuMemAlloc(&memory, kBytes));
    MUST(cuMemHostAlloc((void**)&pinned, kBytes, 0));
    wait_for_company(0);
}

static CUstream stream_with(unsigned flags) {
    CUstream stream;
    MUST(cuStreamCreate(&stream, flags));
    return stream;
}

static void say_graph(CUgraph graph) {
    CUgraphNode nodes[64];
    size_t count = 64, edges = 0;
    SAY(cuGraphGetNodes(graph, nodes, &count));
    SAY(cuGraphGetEdges(graph, 0, 0, 0, &edges));
    printf("nodes %zu edges %zu:", count, edges);
    for (size_t i = 0; i < count; ++i) {
        CUgraphNodeType type;
        MUST(cuGraphNodeGetType(nodes[i], &type));
        printf(" %d", (int)type);
    }
    puts("");
}

static void operations(CUstream stream, char byte) {
    SAY(cuMemsetD8Async(memory, (unsigned char)byte, kBytes, stream));
    SAY(launch(stream));
    SAY(cuMemcpyDtoHAsync(pinned, memory, kBytes, stream));
    SAY(launch(stream));
}

static void say_bytes(char byte) {
    int wrong = 0;
    for (int i = 0; i < kBytes; ++i) wrong += pinned[i] != byte;
    printf("wrong bytes: %d\n", wrong);
}

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

static void capture(void) {
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

static void beside(void) {
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
static void legacy(void) {
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
static void unsafe(void) {
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

// What the program's own events, its memory and its current context say.
static void answers(void) {
    CUstream stream = stream_with(CU_STREAM_NON_BLOCKING);
    CUevent first, last, never;
    CUcontext now;
    size_t free_bytes, all_bytes;
    float ms;
    const CUfunction slow = kernel("slow__300000us");
    SAY(cuEventCreate(&first, 0));
    SAY(cuEventCreate(&last, 0));
    SAY(cuEventCreate(&never, 0));
    SAY(cuEventQuery(never));
    SAY(cuEventRecord(first, stream));
    SAY(cuLaunchKernel(slow, 1, 1, 1, 32, 1, 1, 0, stream, 0, 0));
    SAY(cuEventRecord(last, stream));
    SAY(cuEventQuery(last));
    SAY(cuStreamQuery(stream));
    SAY(cuEventElapsedTime(&ms, first, last));
    operations(stream, 5);
    SAY(cuStreamSynchronize(stream));
    SAY(cuEventQuery(last));
    SAY(cuEventElapsedTime(&ms, first, last));
    SAY(cuEventElapsedTime(&ms, first, never));
    printf("as long as it takes: %d\n", ms >= 300);
    say_bytes(5);
    SAY(cuMemGetInfo(&free_bytes, &all_bytes));
    printf("memory: %zu of %zu\n", free_bytes, all_bytes);
    SAY(cuCtxGetCurrent(&now));
    printf("the same context: %d\n", now == context);
    errno = 77;
    launch(stream);
    printf("errno: %d\n", errno);
}

// Arguments that the driver refuses.
static void refused(void) {
    CUstream stream = stream_with(CU_STREAM_NON_BLOCKING), gone = stream_with(CU_STREAM_NON_BLOCKING);
    SAY(cuMemcpy2DAsync(0, stream));
    SAY(cuMemcpy3DAsync(0, stream));
    SAY(cuLaunchKernelEx(0, function, 0, 0));
    SAY(cuLaunchKernel(function, 0, 1, 1, 32, 1, 1, 0, stream, 0, 0));
    SAY(cuLaunchKernel(0, 1, 1, 1, 32, 1, 1, 0, stream, 0, 0));
    SAY(cuMemcpyDtoHAsync(pinned, 0, kBytes, stream));
    SAY(cuMemAllocAsync(0, kBytes, stream));
    SAY(cuGraphLaunch(0, stream));
    SAY(cuEventRecord(0, stream));
    SAY(cuStreamWaitEvent(stream, 0, 0));
    SAY(cuStreamDestroy(gone));
    SAY(launch(gone));
    SAY(launch(gone));
    SAY(cuMemsetD8Async(memory, 0, kBytes, gone));
    SAY(launch(stream));
    SAY(cuStreamSynchronize(stream));
}

// A kernel's error, which every later call tells.
static void fault(void) {
    CUstream stream = stream_with(CU_STREAM_NON_BLOCKING);
    const CUfunction bad = kernel("bad__20us__fault719__");
    operations(stream, 1);
    SAY(cuStreamSynchronize(stream));
    SAY(cuLaunchKernel(bad, 1, 1, 1, 32, 1, 1, 0, stream, 0, 0));
    usleep(200000);
    SAY(launch(stream));
    SAY(cuStreamSynchronize(stream));
    SAY(launch(0));
    SAY(cuMemFree(memory));
}

// Streams that end right after a launch, contexts that end with work under way.
static void ends(void) {
    int failed = 0;
    for (int i = 0; i < 300; ++i) {
        CUstream stream = stream_with(i % 2 ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT);
        for (int k = 0; k < i % 4; ++k) failed += launch(stream) != 0;
        failed += cuStreamDestroy(stream) != 0;
    }
    printf("streams: %d failed\n", failed);
    for (int i = 0; i < 4; ++i) {
        CUcontext made;
        const CUfunction before = function;
        SAY(cuCtxCreate(&made, 0, 0, 0));
        function = kernel("work__2000us");
        CUstream stream = stream_with(CU_STREAM_NON_BLOCKING);
        wait_for_company(stream);
        failed = 0;
        for (int k = 0; k < 50; ++k) failed += launch(stream) != 0;
        for (int k = 0; k < 5; ++k) failed += launch(0) != 0;
        printf("launches: %d failed\n", failed);
        SAY(cuCtxDestroy(made));
        function = before;
    }
    operations(0, 1);
    SAY(cuCtxSynchronize());
    say_bytes(1);
}

// Primary contexts: released by one of two users, then reset with work under way, then used again.
static void resets(void) {
    CUcontext again;
    SAY(cuDevicePrimaryCtxRetain(&again, 0));
    printf("the same context: %d\n", again == context);
    operations(0, 1);
    SAY(cuDevicePrimaryCtxRelease(0));
    operations(0, 2);
    SAY(cuCtxSynchronize());
    say_bytes(2);
    for (int i = 0; i < 3; ++i) {
        int failed = 0;
        function = kernel("work__2000us");
        for (int k = 0; k < 50; ++k) failed += launch(0) != 0;
        printf("launches: %d failed\n", failed);
        SAY(cuDevicePrimaryCtxReset(0));
        SAY(cuDevicePrimaryCtxRetain(&context, 0));
        SAY(cuCtxSetCurrent(context));
        SAY(cuMemAlloc(&memory, kBytes));
        SAY(cuMemHostAlloc((void**)&pinned, kBytes, 0));
        function = kernel("work__20us");
        CUstream stream = stream_with(CU_STREAM_NON_BLOCKING);
        wait_for_company(stream);
        operations(stream, 3);
        operations(0, 3);
        SAY(cuCtxSynchronize());
        say_bytes(3);
    }
}

// Two devices by turns, streams of both, and per-thread streams.
static void* use_device(void* number) {
    const int device = *(int*)number;
    CUcontext mine, now;
    int failed = 0;
    MUST(cuDevicePrimaryCtxRetain(&mine, device));
    MUST(cuCtxSetCurrent(mine));
    CUfunction work = kernel("device__20us");
    wait_for_company(CU_STREAM_PER_THREAD);
    CUstream stream = stream_with(CU_STREAM_NON_BLOCKING);
    for (int i = 0; i < 500; ++i) {
        CUstream all[] = {stream, 0, CU_STREAM_PER_THREAD, CU_STREAM_LEGACY};
        failed += cuLaunchKernel(work, 1, 1, 1, 32, 1, 1, 0, all[i % 4], 0, 0) != 0;
        if (i % 50 == 0) failed += cuStreamSynchronize(all[i / 50 % 4]) != 0;
    }
    failed += cuCtxGetCurrent(&now) != 0 || now != mine;
    failed += cuCtxSynchronize() != 0;
    return (void*)(size_t)failed;
}

static void devices(void) {
    int number[] = {0, 1, 0, 1};
    for (int i = 0; i < 4; ++i) {
        pthread_t thread;
        void* failed;
        pthread_create(&thread, 0, use_device, &number[i]);
        pthread_join(thread, &failed);
        printf("device %d: %zu failed\n", number[i], (size_t)failed);
    }
    operations(0, 1);
    SAY(cuCtxSynchronize());
    say_bytes(1);
}

int main(int count, char** words) {
    static const struct {
        const char* name;
        void (*run)(void);
    } scenarios[] = {{"capture", capture}, {"beside", beside},   {"legacy", legacy}, {"unsafe", unsafe},
                     {"answers", answers}, {"refused", refused}, {"fault", fault},   {"ends", ends},
                     {"resets", resets},   {"devices", devices}};
    if (count != 2) return 1;
    start();
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; ++i) {
        if (strcmp(words[1], scenarios[i].name) != 0) continue;
        scenarios[i].run();
        if (getenv("COMPANY") != 0) usleep(300000);  // until the last of it was looked at
        return puts("done"), 0;
    }
    return 2;
}
