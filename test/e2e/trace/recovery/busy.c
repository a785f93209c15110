// Threads that keep the driver busy in many ways until stdin ends, or for as long as nobody kills them:
// busy THREADS [PAUSE_US]. Says "ready" once all of them are under way. What stdin says then is how it ends
// at once, while they go on: e(xit without handlers), q(uick_exit), a(bort).
#include <cuda.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CHECK(call)                                 \
    do {                                            \
        if ((call) != CUDA_SUCCESS) {               \
            fprintf(stderr, "failed: %s\n", #call); \
            _exit(9);                               \
        }                                           \
    } while (0)

static const char kPtx[] = ".version 7.0\n.target sm_70\n.visible .entry work() { ret; }\n";

static CUcontext context;
static atomic_int running, ending;
static int pause_us;

static void once(CUstream stream, CUevent event, CUdeviceptr memory) {
    char here[64] = {0};
    CUmodule module;
    CUfunction function;
    CHECK(cuModuleLoadData(&module, kPtx));
    CHECK(cuModuleGetFunction(&function, module, "work"));
    for (int i = 0; i < 20; ++i) CHECK(cuLaunchKernel(function, 2, 1, 1, 32, 1, 1, 0, stream, 0, 0));
    CHECK(cuMemcpyHtoDAsync_v2(memory, here, sizeof here, stream));
    CHECK(cuEventRecord(event, stream));
    while (cuEventQuery(event) == CUDA_ERROR_NOT_READY) continue;
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuModuleUnload(module));
    if (pause_us > 0) usleep((useconds_t)pause_us);
}

static void* work(void* nothing) {
    CUstream stream;
    CUevent event;
    CUdeviceptr memory;
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuEventCreate(&event, 0));
    CHECK(cuMemAlloc_v2(&memory, 4096));
    once(stream, event, memory);
    ++running;
    while (!ending) once(stream, event, memory);
    return nothing;
}

static void end_by(char way) {
    if (way == 'e') _exit(5);
    if (way == 'q') quick_exit(6);
    if (way == 'a') abort();
}

int main(int count, char** words) {
    const int threads = count > 1 ? atoi(words[1]) : 1;
    pause_us = count > 2 ? atoi(words[2]) : 0;
    pthread_t ids[64];
    CHECK(cuInit(0));
    CHECK(cuDevicePrimaryCtxRetain(&context, 0));
    for (int i = 0; i < threads; ++i) pthread_create(&ids[i], 0, work, 0);
    while (running < threads) usleep(1000);
    puts("ready");
    fflush(stdout);
    for (char byte; read(0, &byte, 1) > 0;) end_by(byte);
    ending = 1;
    for (int i = 0; i < threads; ++i) pthread_join(ids[i], 0);
    return 0;
}
