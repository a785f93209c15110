// What C programs of the end-to-end tests begin with: the first GPU, a context on it, and an image in which
// every name is a kernel. A call that fails ends the program with 9, and stdout says which and why.
#pragma once

#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

#define MUST(call)                                              \
    do {                                                        \
        const CUresult result_of_it = (call);                   \
        if (result_of_it != CUDA_SUCCESS) {                     \
            printf("%s: error %d\n", #call, (int)result_of_it); \
            exit(9);                                            \
        }                                                       \
    } while (0)

static CUcontext context;
static CUmodule module;

// In a context of its own.
static inline void open_gpu(void) {
    MUST(cuInit(0));
    MUST(cuCtxCreate(&context, NULL, 0, 0));
    MUST(cuModuleLoadData(&module, "an image"));
}

// In a device's primary context, as a runtime has it.
static inline void open_primary_of(int device) {
    MUST(cuInit(0));
    MUST(cuDevicePrimaryCtxRetain(&context, device));
    MUST(cuCtxSetCurrent(context));
    MUST(cuModuleLoadData(&module, "an image"));
}

static inline void open_primary(void) { open_primary_of(0); }

static inline CUfunction kernel_of(const char* name) {
    CUfunction function;
    MUST(cuModuleGetFunction(&function, module, name));
    return function;
}

static inline CUstream new_stream(void) {
    CUstream stream;
    MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    return stream;
}

static inline void launch_one(CUfunction function, CUstream stream) {
    MUST(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
}
