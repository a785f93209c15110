// Names that a program asks for: real ones, changed at random, and asked in versions that nobody knows.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <random>
#include <string>

#include "way.h"

static const char* const kReal[] = {
    "cuInit",      "cuLaunchKernel", "cuMemcpyHtoD_v2", "cuMemAlloc",    "cuGetProcAddress_v2",
    "cuCtxCreate", "cuStreamQuery",  "cuGetErrorName",  "ncclAllReduce", "dlsym",
};
static std::mt19937_64 random_number(7);

static size_t below(size_t limit) { return static_cast<size_t>(random_number() % limit); }

// Up to three changes: a character more, less or another one; from any byte but the end.
static std::string changed(std::string name) {
    for (size_t times = below(4); times > 0 && !name.empty(); --times) {
        const auto letter = static_cast<char>(1 + below(255));
        const size_t at = below(name.size());
        if (const size_t how = below(3); how == 0)
            name.insert(at, 1, letter);
        else if (how == 1)
            name.erase(at, 1);
        else
            name[at] = letter;
    }
    return name;
}

static uint64_t digest = 1469598103934665603u;
static void add(uint64_t number) { digest = (digest ^ number) * 1099511628211u; }

WAY(names) {
    constexpr int kVersions[] = {0, 1, 2000, 6050, 11040, 12000, 13000, 14000, -1, 2147483647};
    constexpr cuuint64_t kFlags[] = {0, 1, 2, 4, 1ull << 63};
    void* driver = dlopen("libcuda.so.1", RTLD_NOW);
    must(driver != nullptr && cuInit(0) == CUDA_SUCCESS, "driver");
    for (int i = 0; i < host_number; ++i) {
        const std::string name = changed(kReal[below(std::size(kReal))]);
        // By RTLD_DEFAULT a name of NCCL is found wherever the shim is: that handle is left alone.
        const bool is_nccl = name.compare(0, 4, "nccl") == 0;
        void* handle = is_nccl || below(2) == 0 ? driver : RTLD_DEFAULT;
        dlerror();
        add(dlsym(handle, name.c_str()) != nullptr);
        add(dlerror() != nullptr);
        void* found = nullptr;
        CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
        add(static_cast<uint64_t>(
            cuGetProcAddress_v2(name.c_str(), &found, kVersions[below(10)], kFlags[below(5)], &status)));
        add(static_cast<uint64_t>(status));
        add(found != nullptr);
    }
    printf("%d names: %016llx\n", host_number, static_cast<unsigned long long>(digest));
}
