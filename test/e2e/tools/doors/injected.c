// A profiler that injects itself, as far as a program meets it: it stands before dlopen and dlsym, and gives
// out a function of its own where somebody looks cuLaunchKernel up, also through cuGetProcAddress. A linked
// program's launches it does not see: that needs an entry of the driver's (CUPTI).
// Leaves in TOOL_COUNT how many launches it saw.
#define _GNU_SOURCE
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int launches, has_driver;
static __typeof__(&cuLaunchKernel) real_launch;
static __typeof__(&cuGetProcAddress_v2) real_get;
static void* (*real_dlopen)(const char*, int);
static void* (*real_dlsym)(void*, const char*);

static CUresult launch(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                       unsigned bz, unsigned shared, CUstream stream, void** parameters, void** extra) {
    ++launches;
    return real_launch(f, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra);
}

static CUresult get(const char* name, void** found, int version, cuuint64_t flags,
                    CUdriverProcAddressQueryResult* status) {
    const CUresult result = real_get(name, found, version, flags, status);
    if (result != CUDA_SUCCESS || *found == NULL || strcmp(name, "cuLaunchKernel") != 0) return result;
    real_launch = (__typeof__(real_launch))*found;
    *found = (void*)&launch;
    return result;
}

static void find_originals(void) {
    if (real_dlsym != NULL) return;
    real_dlsym = (void* (*)(void*, const char*))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    real_dlopen = (void* (*)(const char*, int))real_dlsym(RTLD_NEXT, "dlopen");
}

void* dlopen(const char* name, int flags) {
    find_originals();
    if (name != NULL && strstr(name, "libcuda.so") != NULL) has_driver = 1;
    return real_dlopen(name, flags);
}

void* dlsym(void* handle, const char* name) {
    find_originals();
    void* found = real_dlsym(handle, name);
    if (found == NULL || !has_driver || handle == RTLD_DEFAULT || handle == RTLD_NEXT) return found;
    if (strcmp(name, "cuLaunchKernel") == 0 && found != (void*)&launch) {
        real_launch = (__typeof__(real_launch))found;
        return (void*)&launch;
    }
    if (strcmp(name, "cuGetProcAddress_v2") == 0 && found != (void*)&get) {
        real_get = (__typeof__(real_get))found;
        return (void*)&get;
    }
    return found;
}

__attribute__((destructor)) static void leave_count(void) {
    const char* path = getenv("TOOL_COUNT");
    FILE* file = path != NULL ? fopen(path, "w") : NULL;
    if (file == NULL) return;
    fprintf(file, "%d\n", launches);
    fclose(file);
}
