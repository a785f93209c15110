// Another tool that counts launches: by exporting the names (EXPORTS), by hooking dlsym, which it found the
// way such tools do (HOOKS_DLSYM), or both. Leaves its count in TOOL_COUNT.
#define _GNU_SOURCE
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int launches;
static __typeof__(&cuLaunchKernel) real_launch;

__attribute__((unused)) static CUresult counted(CUfunction f, unsigned gx, unsigned gy, unsigned gz,
                                                unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                                CUstream stream, void** parameters, void** extra) {
    ++launches;
    return real_launch(f, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra);
}

#ifdef EXPORTS
CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                        unsigned bz, unsigned shared, CUstream stream, void** parameters, void** extra) {
#ifdef BY_HANDLE
    if (real_launch == NULL)
        real_launch = (__typeof__(real_launch))dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuLaunchKernel");
#else
    if (real_launch == NULL) real_launch = (__typeof__(real_launch))dlsym(RTLD_NEXT, "cuLaunchKernel");
#endif
    return counted(f, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra);
}
#endif

#ifdef HOOKS_DLSYM
static void* (*real_dlsym)(void*, const char*);

void* dlsym(void* handle, const char* name) {
    if (real_dlsym == NULL)
        real_dlsym = (void* (*)(void*, const char*))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    if (strcmp(name, "cuLaunchKernel") == 0 && handle != RTLD_DEFAULT && handle != RTLD_NEXT) {
        real_launch = (__typeof__(real_launch))real_dlsym(handle, name);
        return real_launch != NULL ? (void*)&counted : NULL;
    }
    return real_dlsym(handle, name);
}
#endif

__attribute__((destructor)) static void leave_count(void) {
    const char* path = getenv("TOOL_COUNT");
    FILE* file = path != NULL ? fopen(path, "w") : NULL;
    if (file == NULL) return;
    fprintf(file, "%d\n", launches);
    fclose(file);
}
