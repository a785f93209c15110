// Gets at the driver by dlopen in one of many ways, works, and prints what came of it: opener WAY [NUMBER or
// FILE].
#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static CUcontext context;
static CUdeviceptr memory;
static CUresult (*copy)(CUdeviceptr, const void*, size_t);

// What was found in that library; 0: all of it was there and worked.
static int work(void* driver, int times) {
    CUresult (*init)(unsigned) = (CUresult(*)(unsigned))dlsym(driver, "cuInit");
    __typeof__(&cuCtxCreate_v4) create = (__typeof__(create))dlsym(driver, "cuCtxCreate_v4");
    __typeof__(&cuCtxDestroy_v2) destroy = (__typeof__(destroy))dlsym(driver, "cuCtxDestroy_v2");
    __typeof__(&cuMemAlloc_v2) allocate = (__typeof__(allocate))dlsym(driver, "cuMemAlloc_v2");
    copy = (__typeof__(copy))dlsym(driver, "cuMemcpyHtoD_v2");
    if (!init || !create || !destroy || !allocate || !copy) return 1;
    char bytes[64] = {0};
    if (init(0) || create(&context, NULL, 0, 0) || allocate(&memory, 4096)) return 2;
    for (int i = 0; i < times; ++i)
        if (copy(memory, bytes, sizeof bytes)) return 3;
    return destroy(context) ? 4 : 0;
}

static int once(int flags) {
    void* driver = dlopen("libcuda.so.1", flags);
    return driver == NULL ? 9 : work(driver, 7);
}

static int again_and_again(int times) {
    for (int i = 0; i < times; ++i) {
        void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
        const int failed = driver == NULL ? 9 : work(driver, 7);
        if (failed || dlclose(driver)) return failed;
    }
    return 0;
}

// A namespace of its own has a C library of its own, too.
static int in_a_namespace(void) {
    void* driver = dlmopen(LM_ID_NEWLM, "libcuda.so.1", RTLD_NOW);
    if (driver == NULL) return 9;
    int (*init)(unsigned) = (int (*)(unsigned))dlsym(driver, "cuInit");
    int (*count)(int*) = (int (*)(int*))dlsym(driver, "cuDeviceGetCount");
    int devices = -1;
    return !init || !count ? 1 : init(0) || count(&devices) || devices < 1;
}

// The shim itself, opened as a library like any other, and closed while it records.
static int closes(const char* shim) {
    for (int i = 0; i < 1000; ++i) {
        void* handle = dlopen(shim, RTLD_NOW | RTLD_LOCAL);
        if (handle == NULL || dlclose(handle)) return 8;
    }
    void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    void* handle = dlopen(shim, RTLD_NOW | RTLD_LOCAL);
    if (driver == NULL || handle == NULL) return 9;
    const int failed = work(handle, 100);
    if (failed || dlclose(handle)) return failed;
    usleep(300000);
    setenv("ANOTHER", "variable", 1);
    return getenv("PATH") == NULL;
}

int main(int count, char** words) {
    if (count < 3) return 2;
    int failed = 7;
    if (!strcmp(words[1], "deepbind")) failed = once(RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    if (!strcmp(words[1], "again")) failed = again_and_again(atoi(words[2]));
    if (!strcmp(words[1], "namespace")) failed = in_a_namespace();
    if (!strcmp(words[1], "closes")) failed = closes(words[2]);
    printf("%s: %d\n", words[1], failed);
    return failed;
}
