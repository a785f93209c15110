// Launches a kernel of its own through each way to the same function: linked, dlsym in its forms, the
// look-ups in theirs. Each is to be counted once: neither passed by, nor seen twice where one way leads into
// another. Prints `kernel launches` of each way that this driver has.
#include <cuda.h>
#include <dlfcn.h>

#include <cstdio>
#include <string>
#include <vector>

namespace {

using Launch = decltype(&cuLaunchKernel);
// The exported name is the first form, the headers' macro means the second.
#undef cuGetProcAddress
extern "C" CUresult cuGetProcAddress(const char*, void**, int, cuuint64_t);
using LookupV1 = decltype(&cuGetProcAddress);
using LookupV2 = CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);

constexpr const char* kName = "cuLaunchKernel";
constexpr cuuint64_t kLegacy = 1, kPerThread = 2;

struct Way {
    std::string kernel;
    Launch launch;
    int times;
};

template <class Function>
Function as(void* address) {
    return reinterpret_cast<Function>(address);
}

Launch by_v1(LookupV1 lookup, cuuint64_t flags) {
    void* address = nullptr;
    const bool found = lookup != nullptr && lookup(kName, &address, 11030, flags) == CUDA_SUCCESS;
    return found ? as<Launch>(address) : nullptr;
}

Launch by_v2(LookupV2 lookup, int version, cuuint64_t flags) {
    void* address = nullptr;
    CUdriverProcAddressQueryResult outcome{};
    const bool found = lookup != nullptr && lookup(kName, &address, version, flags, &outcome) == CUDA_SUCCESS;
    return found ? as<Launch>(address) : nullptr;
}

void* itself(int version) {
    void* address = nullptr;
    return cuGetProcAddress("cuGetProcAddress", &address, version, 0) == CUDA_SUCCESS ? address : nullptr;
}

std::vector<Way> ways() {
    void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    const auto exported_v2 = as<LookupV2>(dlsym(driver, "cuGetProcAddress_v2"));
    return {
        {"linked", &cuLaunchKernel, 3},
        {"dlsym_handle", as<Launch>(dlsym(driver, kName)), 5},
        {"dlsym_default", as<Launch>(dlsym(RTLD_DEFAULT, kName)), 7},
        {"dlsym_next", as<Launch>(dlsym(RTLD_NEXT, kName)), 11},
        {"dlvsym_handle", as<Launch>(dlvsym(driver, kName, "libcuda.so.1")), 13},
        {"lookup_v1", by_v1(&cuGetProcAddress, kLegacy), 17},
        {"lookup_v2", by_v2(exported_v2, 12000, kLegacy), 19},
        {"lookup_oldest", by_v2(exported_v2, 4000, kLegacy), 23},
        {"lookup_per_thread", by_v2(exported_v2, 12000, kPerThread), 29},
        {"lookup_of_v1", by_v1(as<LookupV1>(itself(11030)), kLegacy), 31},
        {"lookup_of_v2", by_v2(as<LookupV2>(itself(12000)), 12000, kLegacy), 37},
    };
}

std::string kernels(const std::vector<Way>& all) {
    std::string ptx = ".version 6.0\n.target sm_50\n.address_size 64\n";
    for (const Way& way : all) ptx += ".visible .entry " + way.kernel + "__1us()\n{\n    ret;\n}\n";
    return ptx;
}

bool launched(const Way& way, CUmodule module) {
    CUfunction function = nullptr;
    bool ok = cuModuleGetFunction(&function, module, (way.kernel + "__1us").c_str()) == CUDA_SUCCESS;
    for (int i = 0; ok && i < way.times; ++i)
        ok = way.launch(function, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr) == CUDA_SUCCESS;
    return ok;
}

}  // namespace

int main() {
    CUcontext context = nullptr;
    CUmodule module = nullptr;
    if (cuInit(0) != CUDA_SUCCESS || cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS ||
        cuCtxSetCurrent(context) != CUDA_SUCCESS)
        return 1;
    const std::vector<Way> all = ways();
    if (cuModuleLoadData(&module, kernels(all).c_str()) != CUDA_SUCCESS) return 1;
    for (const Way& way : all) {
        if (way.launch == nullptr) continue;  // this driver has no such way
        if (!launched(way, module)) return 1;
        std::printf("%s__1us %d\n", way.kernel.c_str(), way.times);
    }
    return cuCtxSynchronize() == CUDA_SUCCESS ? 0 : 1;
}
