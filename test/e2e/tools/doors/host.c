// A program that gets at the driver in one of many ways and then works: launches, copies, a synchronize.
// Prints what it has seen, which is the same with and without a shim; in HITS, if that is set, leaves what
// the shim counted.
//
//   WAY: LINKED, DLOPEN, DLVSYM, DEFAULT (RTLD_DEFAULT), PROC1, PROC2
//   LIMITED: also says how much memory it sees, and what three allocations of 60 MiB answer, of which the
//   first is freed before the third
#define _GNU_SOURCE
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINKED 1
#define DLOPEN 2
#define DLVSYM 4
#define DEFAULT 5
#define PROC1 6
#define PROC2 7

#ifndef FLAGS
#define FLAGS 0
#endif
#ifdef NEWEST  // a version in which the forms for the thread's own stream exist
#define VERSION(first) 13000
#else
#define VERSION(first) first
#endif

#ifdef LIMITED
#define LIMITS(F)                            \
    F(cuMemFree_v2, "cuMemFree", 3020)       \
    F(cuMemGetInfo_v2, "cuMemGetInfo", 3020) \
    F(cuDeviceTotalMem_v2, "cuDeviceTotalMem", 3020)
#else
#define LIMITS(F)
#endif
#define FUNCTIONS(F)                                    \
    F(cuInit, "cuInit", 2000)                           \
    F(cuDeviceGet, "cuDeviceGet", 2000)                 \
    F(cuCtxCreate_v2, "cuCtxCreate", 3020)              \
    F(cuModuleLoadData, "cuModuleLoadData", 2000)       \
    F(cuModuleGetFunction, "cuModuleGetFunction", 2000) \
    F(cuMemAlloc_v2, "cuMemAlloc", 3020)                \
    F(cuMemcpyHtoD_v2, "cuMemcpyHtoD", VERSION(3020))   \
    F(cuMemcpyDtoH_v2, "cuMemcpyDtoH", VERSION(3020))   \
    F(cuLaunchKernel, "cuLaunchKernel", VERSION(4000))  \
    F(cuCtxSynchronize, "cuCtxSynchronize", 2000)       \
    LIMITS(F)

#define DECLARE(export, base, version) __typeof__(&export) export;
static struct { FUNCTIONS(DECLARE) } my;

#if WAY == PROC1 || WAY == PROC2
static void* find(void* driver, const char* export, const char* base, int version) {
    void* found = NULL;
    (void)export;
#if WAY == PROC1
    __typeof__(&cuGetProcAddress) get = (__typeof__(get))dlsym(driver, "cuGetProcAddress");
    if (get == NULL || get(base, &found, version, FLAGS) != CUDA_SUCCESS) return NULL;
#else
    CUdriverProcAddressQueryResult status;
    __typeof__(&cuGetProcAddress_v2) get = (__typeof__(get))dlsym(driver, "cuGetProcAddress_v2");
    if (get == NULL || get(base, &found, version, FLAGS, &status) != CUDA_SUCCESS) return NULL;
#endif
    return found;
}
#elif WAY == DLVSYM
static void* find(void* driver, const char* export, const char* base, int version) {
    (void)base, (void)version;
    return dlvsym(driver, export, "ANY");
}
#elif WAY != LINKED
static void* find(void* driver, const char* export, const char* base, int version) {
    (void)base, (void)version;
    return dlsym(WAY == DEFAULT ? RTLD_DEFAULT : driver, export);
}
#endif

static int get_functions(void) {
#if WAY == LINKED
#define TAKE(export, base, version) my.export = &export;
#else
    void* driver = dlopen("libcuda.so.1", RTLD_NOW | (WAY == DEFAULT ? RTLD_GLOBAL : RTLD_LOCAL));
    if (driver == NULL) return printf("no driver: %s\n", dlerror()), 0;
#define TAKE(export, base, version)                                        \
    my.export = (__typeof__(&export))find(driver, #export, base, version); \
    if (my.export == NULL) return printf("no %s\n", #export), 0;
#endif
    dlerror();
    FUNCTIONS(TAKE)
    const char* error = dlerror();
    if (error != NULL) printf("an error that nobody made: %s\n", error);
    return 1;
}

static uint64_t (*hits(void))(const char*) {
    return (uint64_t(*)(const char*))dlsym(RTLD_DEFAULT, "gpushim_hits");
}

static void leave_hits(void) {
    const char* path = getenv("HITS");
    if (path == NULL || hits() == NULL) return;
    FILE* file = fopen(path, "w");
#define NAME(export, base, version) #export, #export "_ptds", #export "_ptsz",
    const char* names[] = {FUNCTIONS(NAME) "untouched", "unknown_abi"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
        fprintf(file, "%s %llu\n", names[i], (unsigned long long)hits()(names[i]));
    fclose(file);
}

#define CHECK(call)                                                                   \
    do {                                                                              \
        CUresult result = my.call;                                                    \
        if (result != CUDA_SUCCESS) return printf("%s: %d\n", #call, (int)result), 1; \
    } while (0)

#ifdef LIMITED
static int ask_for_memory(CUdevice device) {
    enum { kMiB = 1 << 20 };
    size_t free_bytes, total, all;
    CUdeviceptr one, another;
    CHECK(cuMemGetInfo_v2(&free_bytes, &total));
    CHECK(cuDeviceTotalMem_v2(&all, device));
    const CUresult first = my.cuMemAlloc_v2(&one, 60 * kMiB), second = my.cuMemAlloc_v2(&another, 60 * kMiB);
    CHECK(cuMemFree_v2(one));
    const CUresult third = my.cuMemAlloc_v2(&one, 60 * kMiB);
    printf("%zu of %zu MiB, of %zu; %d, %d, %d\n", (free_bytes + kMiB - 1) / kMiB, total / kMiB, all / kMiB,
           (int)first, (int)second, (int)third);
    return 0;
}
#endif

static const char kPtx[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry work()\n{\n ret;\n}\n";

#ifdef IN_LIBRARY
int work(void);
int work(void) {
#else
int main(void) {
#endif
    if (hits() != NULL) hits()(NULL);
    if (!get_functions()) return 1;
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction function;
    CUdeviceptr memory;
    uint32_t there[256], back[256];
    for (unsigned i = 0; i < 256; ++i) there[i] = i * 77;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuCtxCreate_v2(&context, 0, device));
    CHECK(cuModuleLoadData(&module, kPtx));
    CHECK(cuModuleGetFunction(&function, module, "work"));
    CHECK(cuMemAlloc_v2(&memory, sizeof there));
    CHECK(cuMemcpyHtoD_v2(memory, there, sizeof there));
    for (int i = 0; i < 7; ++i) CHECK(cuLaunchKernel(function, 2, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
    CHECK(cuCtxSynchronize());
    CHECK(cuMemcpyDtoH_v2(back, memory, sizeof back));
    printf("7 launches, %s\n", memcmp(there, back, sizeof back) == 0 ? "the bytes came back" : "OTHER BYTES");
    const char* error = dlerror();
    if (error != NULL) printf("an error that nobody made: %s\n", error);
#ifdef LIMITED
    if (ask_for_memory(device) != 0) return 1;
#endif
    leave_hits();
    return 0;
}
