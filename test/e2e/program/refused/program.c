// Work of all kinds by calls that gpushim itself does not make, so that the driver can refuse those of
// gpushim alone. Says what each call returned and what the memory holds. What a driver may lack is looked up.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kBytes = 4096, kTurns = 20 };
static CUcontext context;
static CUmodule module;
static CUfunction function;
static CUdeviceptr memory;
static CUstream stream;

// As a program has it that lists what an image holds: no call says what the functions are named.
#define IMAGE                                         \
    ".version 7.0\n.target sm_50\n.address_size 64\n" \
    ".entry step__20us()\n{\nret;\n}\n.entry other__10us()\n{\nret;\n}\n"

#define SAY(call) printf("%d %s\n", (int)(call), #call)
#define FIND(name) __typeof__(&name) find_##name = (__typeof__(&name))dlsym(RTLD_DEFAULT, #name)

static void pause_ms(long milliseconds) {
    const struct timespec span = {0, milliseconds * 1000000};
    nanosleep(&span, NULL);
}

static CUresult launch(CUfunction what, CUstream where) {
    return cuLaunchKernel(what, 1, 1, 1, 32, 1, 1, 0, where, NULL, NULL);
}

static void set_up(void) {
    SAY(cuInit(0));
    SAY(cuDevicePrimaryCtxRetain(&context, 0));
    SAY(cuCtxSetCurrent(context));
    SAY(cuModuleLoadData(&module, IMAGE));
    SAY(cuModuleGetFunction(&function, module, "step__20us"));
    SAY(cuMemAlloc_v2(&memory, kBytes));
    SAY(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0));
}

static void work(void) {
    static char bytes[kBytes];
    FIND(cuLaunchKernel_ptsz);
    for (int turn = 0; turn < kTurns; ++turn) {
        SAY(launch(function, stream));
        SAY(launch(function, NULL));
        SAY(find_cuLaunchKernel_ptsz(function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
        SAY(cuMemsetD8Async(memory, (unsigned char)turn, kBytes, stream));
        SAY(cuMemcpyHtoDAsync_v2(memory, &turn, sizeof turn, stream));
        pause_ms(2);
    }
    SAY(cuStreamSynchronize(stream));
    SAY(cuMemcpyDtoH_v2(bytes, memory, kBytes));
    printf("%d %d\n", bytes[0], bytes[kBytes - 1]);
}

// Made and used past everybody: gpushim asks the driver about it when work in it is seen.
static void work_in_a_foreign_stream(const char* library) {
    void* alone = dlopen(library, RTLD_NOW | RTLD_DEEPBIND);
    CUstream (*make)(void) = (CUstream(*)(void))dlsym(alone, "make_stream");
    const CUstream foreign = make();
    for (int turn = 0; turn < kTurns; ++turn) SAY(launch(function, foreign));
    SAY(cuStreamSynchronize(foreign));
}

static CUfunction listed_function(void) {
    CUfunction listed = function;
    FIND(cuModuleEnumerateFunctions);
    if (find_cuModuleEnumerateFunctions != NULL) SAY(find_cuModuleEnumerateFunctions(&listed, 1, module));
    return listed;
}

static CUfunction listed_kernel(void) {
    CUlibrary library;
    CUkernel kernel = NULL;
    FIND(cuLibraryLoadData);
    FIND(cuLibraryEnumerateKernels);
    if (find_cuLibraryEnumerateKernels == NULL) return function;
    SAY(find_cuLibraryLoadData(&library, IMAGE, NULL, NULL, 0, NULL, NULL, 0));
    SAY(find_cuLibraryEnumerateKernels(&kernel, 1, library));
    return (CUfunction)kernel;
}

static void graphs(void) {
    CUgraph inner, outer;
    CUgraphNode node;
    CUgraphExec exec;
    const CUfunction other = listed_kernel(), another = listed_function();
    FIND(cuGraphInstantiateWithFlags);
    FIND(cuLaunchKernel_ptsz);
    FIND(cuMemsetD8Async_ptsz);
    if (find_cuGraphInstantiateWithFlags == NULL) return;
    SAY(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    SAY(launch(function, stream));
    SAY(launch(other, stream));
    SAY(launch(another, stream));
    SAY(find_cuLaunchKernel_ptsz(function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
    SAY(cuMemcpyDtoDAsync_v2(memory, memory + kBytes / 2, kBytes / 2, stream));
    SAY(cuMemsetD8Async(memory, 7, kBytes / 4, stream));
    // Of nothing: whether it was captured is all that there is to ask, with device times or without.
    SAY(cuMemsetD8Async(memory, 7, 0, stream));
    SAY(find_cuMemsetD8Async_ptsz(memory, 7, 0, NULL));
    SAY(cuStreamEndCapture(stream, &inner));
    SAY(cuGraphCreate(&outer, 0));
    SAY(cuGraphAddChildGraphNode(&node, outer, NULL, 0, inner));
    SAY(find_cuGraphInstantiateWithFlags(&exec, outer, 0));
    for (int turn = 0; turn < kTurns; ++turn) SAY(cuGraphLaunch(exec, stream));
    SAY(cuStreamSynchronize(stream));
}

int main(int count, char** words) {
    setvbuf(stdout, NULL, _IOLBF, 1 << 12);  // a line is one write: lines of the shim come between them
    set_up();
    pause_ms(100);
    work();
    if (count > 1) work_in_a_foreign_stream(words[1]);
    graphs();
    pause_ms(50);
    for (int left = count > 2 ? atoi(words[2]) : 0; left > 0; left -= 100) pause_ms(100);
    SAY(cuDevicePrimaryCtxRelease_v2(0));
    return 7;
}
