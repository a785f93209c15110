// A short life on the stepped clock that asks of the shim all that it does: two threads launch, copy and wait,
// a few hundred milliseconds of virtual time at once; modules, streams, events, graphs and markers come and
// go. Prints what it has done. With PROGRESS=<file> its calls that returned are counted in there.
#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern void gpusim_advance_ns(unsigned long ns);

#define MUST(call)                                  \
    do {                                            \
        if ((call) != CUDA_SUCCESS) {               \
            fprintf(stderr, "failed: %s\n", #call); \
            _exit(9);                               \
        }                                           \
    } while (0)

enum { kRounds = 8, kLaunches = 40 };
static const char kPtx[] = ".version 7.0\n.target sm_70\n.visible .entry work() { ret; }\n";
static CUcontext context;
static atomic_ulong launched;

static void one_round(CUstream stream, CUdeviceptr memory) {
    char here[256] = {1};
    CUmodule module;
    CUfunction function;
    CUevent event;
    MUST(cuModuleLoadData(&module, kPtx));
    MUST(cuModuleGetFunction(&function, module, "work"));
    MUST(cuEventCreate(&event, 0));
    for (int i = 0; i < kLaunches; ++i) {
        MUST(cuLaunchKernel(function, 1 + (unsigned)i % 3, 1, 1, 32, 1, 1, 0, stream, 0, 0));
        ++launched;
    }
    MUST(cuMemcpyHtoDAsync(memory, here, sizeof here, stream));
    MUST(cuMemsetD8Async(memory, 7, sizeof here, stream));
    MUST(cuEventRecord(event, stream));
    MUST(cuStreamSynchronize(stream));
    MUST(cuMemcpyDtoH(here, memory, sizeof here));
    if (here[255] != 7) _exit(8);
    MUST(cuEventDestroy(event));
    MUST(cuModuleUnload(module));
}

static void* work(void* nothing) {
    void (*step)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "gpushim_step");
    CUstream stream;
    CUdeviceptr memory;
    MUST(cuCtxSetCurrent(context));
    MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    MUST(cuMemAlloc(&memory, 4096));
    for (int i = 0; i < kRounds; ++i) {
        if (step != NULL) step();
        one_round(stream, memory);
        gpusim_advance_ns(300000000);
    }
    MUST(cuMemFree(memory));
    MUST(cuStreamDestroy(stream));
    return nothing;
}

int main(void) {
    pthread_t thread;
    MUST(cuInit(0));
    MUST(cuCtxCreate(&context, NULL, 0, 0));
    work(NULL);
    if (pthread_create(&thread, NULL, work, NULL) != 0) return 7;
    pthread_join(thread, NULL);
    MUST(cuCtxDestroy(context));
    printf("%lu launches\n", (unsigned long)launched);
    return 3;
}
