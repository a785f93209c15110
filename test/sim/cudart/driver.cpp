#include "cudart/driver.h"

#include <dlfcn.h>

namespace cudart {
namespace {

using GetProcAddress = decltype(&::cuGetProcAddress_v2);

void* pointers[kLookupCount];

void look_up(GetProcAddress& ask, std::size_t row) {
    const Lookup& lookup = kLookups[row];
    CUdriverProcAddressQueryResult found{};
    const CUresult result = ask(lookup.name, &pointers[row], lookup.version, lookup.flags, &found);
    if (result != CUDA_SUCCESS) pointers[row] = nullptr;
    // From here on the runtime asks through the pointer it was given, which a shim may have replaced.
    if (row == row_of("cuGetProcAddress_v2") && pointers[row] != nullptr) {
        ask = reinterpret_cast<GetProcAddress>(pointers[row]);
    }
}

cudaError_t open_once() {
    void* library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == nullptr) return cudaErrorInsufficientDriver;
    auto ask = reinterpret_cast<GetProcAddress>(dlsym(library, "cuGetProcAddress_v2"));
    if (ask == nullptr) return cudaErrorInsufficientDriver;
    for (std::size_t row = 0; row < kLookupCount; ++row) look_up(ask, row);
    return cudaSuccess;
}

cudaError_t start_once() {
    if (const cudaError_t error = open_driver(); error != cudaSuccess) return error;
    return DRIVER(cuInit)(0);
}

}  // namespace

void* driver_pointer(std::size_t row) { return pointers[row]; }

cudaError_t open_driver() {
    static const cudaError_t result = open_once();
    return result;
}

cudaError_t start_driver() {
    static const cudaError_t result = start_once();
    return result;
}

}  // namespace cudart
