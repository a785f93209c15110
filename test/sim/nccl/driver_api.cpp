#include "driver_api.h"

#include <dlfcn.h>

#include <cstring>

namespace gpusim::nccl {
namespace {

constexpr int kApiVersion = 12000;

using GetProcAddress = CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);

template <class Function>
void find(GetProcAddress get, const char* name, Function& into) {
    void* found = nullptr;
    if (get(name, &found, kApiVersion, CU_GET_PROC_ADDRESS_DEFAULT, nullptr) == CUDA_SUCCESS)
        into = reinterpret_cast<Function>(found);
}

DriverApi load() {
    DriverApi api;
    void* const library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == nullptr) return api;
    const auto get = reinterpret_cast<GetProcAddress>(dlsym(library, "cuGetProcAddress_v2"));
    if (get == nullptr) return api;
    api.complete = true;
#define DRIVER_FUNCTION(name)   \
    find(get, #name, api.name); \
    if (api.name == nullptr && std::strcmp(#name, "cuLaunchKernelEx") != 0) api.complete = false;
#include "driver_api.def"
#undef DRIVER_FUNCTION
    return api;
}

}  // namespace

const DriverApi& driver_api() {
    static const DriverApi* const api = new DriverApi(load());
    return *api;
}

InContext::InContext(CUcontext context) {
    CUcontext current = nullptr;
    driver_api().cuCtxGetCurrent(&current);
    pushed_ = current != context && driver_api().cuCtxPushCurrent(context) == CUDA_SUCCESS;
}

InContext::~InContext() {
    CUcontext popped = nullptr;
    if (pushed_) driver_api().cuCtxPopCurrent(&popped);
}

}  // namespace gpusim::nccl
