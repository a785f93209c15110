// Threads that keep the driver busy in many ways until stdin ends, or for as long as nobody kills them:
// busy THREADS [PAUSE_US]. Says "ready" once all of them are under way. What stdin says then is how it ends
// at once, while they go on: e(xit without handlers), q(uick_exit), a(bort).
#include "one_gpu.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static const char kPtx[] = ".version 7.0\n.target sm_70\n.visible .entry work() { ret; }\n";

static atomic_int running, ending;
static int pause_us;

static void once(CUstream stream, CUevent event, CUdeviceptr memory) {
    char here[64] = {0};
    CUmodule image;
    CUfunction function;
    MUST(cuModuleLoadData(&image, kPtx));
    MUST(cuModuleGetFunction(&function, image, "work"));
    for (int i = 0; i < 20; ++i) launch_one(function, stream);
    MUST(cuMemcpyHtoDAsync_v2(memory, here, sizeof here, stream));
    MUST(cuEventRecord(event, stream));
    while (cuEventQuery(event) == CUDA_ERROR_NOT_READY) continue;
    MUST(cuStreamSynchronize(stream));
    MUST(cuModuleUnload(image));
    if (pause_us > 0) usleep((useconds_t)pause_us);
}

static void* work(void* nothing) {
    CUevent event;
    CUdeviceptr memory;
    MUST(cuCtxSetCurrent(context));
    const CUstream stream = new_stream();
    MUST(cuEventCreate(&event, 0));
    MUST(cuMemAlloc_v2(&memory, 4096));
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
    open_primary();
    for (int i = 0; i < threads; ++i) pthread_create(&ids[i], 0, work, 0);
    while (running < threads) usleep(1000);
    puts("ready");
    fflush(stdout);
    for (char byte; read(0, &byte, 1) > 0;) end_by(byte);
    ending = 1;
    for (int i = 0; i < threads; ++i) pthread_join(ids[i], 0);
    return 0;
}
