// A library that shares a GPU among containers, as far as a program meets it: it hooks dlsym, exports the
// names, gives its own functions out of cuGetProcAddress, and allows a process 100 MiB of memory. What it
// asks for itself has to be the original: its own function there would never return, so it ends the process.
// Leaves in TOOL_COUNT how often it was initialised (times 10,000), launches (times 100) and allocations that
// it allowed.
#define _GNU_SOURCE
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT ((size_t)100 << 20)
#define MOST_BLOCKS 64

static struct {
    CUdeviceptr begin;
    size_t bytes;
} blocks[MOST_BLOCKS];
static size_t used;
static int inits, launches, allowed;

#define OWN(F)                                       \
    F(cuInit, "cuInit", 2000)                        \
    F(cuMemAlloc_v2, "cuMemAlloc", 3020)             \
    F(cuMemFree_v2, "cuMemFree", 3020)               \
    F(cuMemGetInfo_v2, "cuMemGetInfo", 3020)         \
    F(cuDeviceTotalMem_v2, "cuDeviceTotalMem", 3020) \
    F(cuLaunchKernel, "cuLaunchKernel", 4000)        \
    F(cuGetProcAddress, "cuGetProcAddress", 11030)   \
    F(cuGetProcAddress_v2, "cuGetProcAddress", 12000)

#define DECLARE(export, base, version) __typeof__(&export) export;
static struct { OWN(DECLARE) } real;

static void* (*libc_dlsym)(void*, const char*);

static void find_originals(void) {
    if (real.cuInit != NULL) return;
    if (libc_dlsym == NULL)
        libc_dlsym = (void* (*)(void*, const char*))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NODELETE);
#define FIND(export, base, version)                                 \
    real.export = (__typeof__(&export))libc_dlsym(driver, #export); \
    if (real.export == NULL || real.export == &export) abort();
    OWN(FIND)
}

CUresult cuInit(unsigned flags) {
    find_originals();
    ++inits;
    return real.cuInit(flags);
}

CUresult cuMemAlloc_v2(CUdeviceptr* memory, size_t bytes) {
    find_originals();
    if (used + bytes > LIMIT) return CUDA_ERROR_OUT_OF_MEMORY;
    const CUresult result = real.cuMemAlloc_v2(memory, bytes);
    if (result != CUDA_SUCCESS) return result;
    ++allowed;
    for (int i = 0; i < MOST_BLOCKS; ++i) {
        if (blocks[i].bytes != 0) continue;
        blocks[i].begin = *memory;
        blocks[i].bytes = bytes;
        break;
    }
    used += bytes;
    return result;
}

CUresult cuMemFree_v2(CUdeviceptr memory) {
    find_originals();
    const CUresult result = real.cuMemFree_v2(memory);
    for (int i = 0; result == CUDA_SUCCESS && i < MOST_BLOCKS; ++i) {
        if (blocks[i].begin != memory) continue;
        used -= blocks[i].bytes;
        blocks[i].bytes = 0;
    }
    return result;
}

CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
    find_originals();
    const CUresult result = real.cuMemGetInfo_v2(free, total);
    *total = LIMIT;
    *free = LIMIT - used;
    return result;
}

CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
    find_originals();
    const CUresult result = real.cuDeviceTotalMem_v2(bytes, device);
    *bytes = LIMIT;
    return result;
}

CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                        unsigned bz, unsigned shared, CUstream stream, void** parameters, void** extra) {
    find_originals();
    ++launches;
    return real.cuLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra);
}

// The newest form of the name that the program may have.
static void own(const char* base, int version, void** found) {
    int best = 0;
#define OFFER(export, its_base, since)                                     \
    if (strcmp(base, its_base) == 0 && since <= version && since > best) { \
        best = since;                                                      \
        *found = (void*)&export;                                           \
    }
    if (*found != NULL) {
        OWN(OFFER)
    }
}

CUresult cuGetProcAddress(const char* base, void** found, int version, cuuint64_t flags) {
    find_originals();
    const CUresult result = real.cuGetProcAddress(base, found, version, flags);
    if (result == CUDA_SUCCESS) own(base, version, found);
    return result;
}

CUresult cuGetProcAddress_v2(const char* base, void** found, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* status) {
    find_originals();
    const CUresult result = real.cuGetProcAddress_v2(base, found, version, flags, status);
    if (result == CUDA_SUCCESS) own(base, version, found);
    return result;
}

void* dlsym(void* handle, const char* name) {
    if (libc_dlsym == NULL)
        libc_dlsym = (void* (*)(void*, const char*))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    void* const found = libc_dlsym(handle, name);
    if (found == NULL || handle == RTLD_NEXT || strncmp(name, "cu", 2) != 0) return found;
#define GIVE(export, base, version) \
    if (strcmp(name, #export) == 0) return (void*)&export;
    OWN(GIVE)
    return found;
}

__attribute__((destructor)) static void leave_count(void) {
    const char* path = getenv("TOOL_COUNT");
    FILE* file = path != NULL ? fopen(path, "w") : NULL;
    if (file == NULL) return;
    fprintf(file, "%d\n", 10000 * inits + 100 * launches + allowed);
    fclose(file);
}
