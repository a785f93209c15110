// A tool that wraps functions of the driver and of the runtime by their names: the linker takes the first.
// Leaves in TOOL_COUNT how many launches and copies it saw.
#define _GNU_SOURCE
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static int calls;

CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                        unsigned bz, unsigned shared, CUstream stream, void** parameters, void** extra) {
    __typeof__(&cuLaunchKernel) real = (__typeof__(real))dlsym(RTLD_NEXT, "cuLaunchKernel");
    ++calls;
    return real(f, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra);
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, enum cudaMemcpyKind kind) {
    __typeof__(&cudaMemcpy) real = (__typeof__(real))dlsym(RTLD_NEXT, "cudaMemcpy");
    ++calls;
    return real(to, from, bytes, kind);
}

__attribute__((destructor)) static void leave_count(void) {
    const char* path = getenv("TOOL_COUNT");
    FILE* file = path != NULL ? fopen(path, "w") : NULL;
    if (file == NULL) return;
    fprintf(file, "%d\n", calls);
    fclose(file);
}
