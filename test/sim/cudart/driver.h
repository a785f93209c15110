// The driver as the runtime sees it: only through the pointers that its look-ups at start returned.
// open_driver() opens libcuda.so.1 and makes every recorded look-up, once, on the first thread that calls it;
// DRIVER(cuMemAlloc_v2)(…) calls an entry, typed by the driver's own declaration. Any thread.
#pragma once

#include "cudart/cuda_api.h"

#include "cudart/lookup_table.h"

namespace cudart {

// cudaSuccess, or why there is no driver to work with; the same answer every time.
cudaError_t open_driver();
// The driver is open and cuInit has succeeded; else the error of either.
cudaError_t start_driver();

void* driver_pointer(std::size_t row);

inline CUdeviceptr address_of(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }
// A kernel handle stands for the function it becomes in the context of the launch.
inline CUfunction as_function(CUkernel kernel) { return reinterpret_cast<CUfunction>(kernel); }

// Driver and runtime number their errors alike.
inline cudaError_t to_runtime(CUresult result) { return static_cast<cudaError_t>(result); }

template <class Signature, std::size_t kRow>
struct Entry;

template <class... Arguments, std::size_t kRow>
struct Entry<CUresult(Arguments...), kRow> {
    cudaError_t operator()(Arguments... arguments) const {
        auto* function = reinterpret_cast<CUresult (*)(Arguments...)>(driver_pointer(kRow));
        if (function == nullptr) return cudaErrorCallRequiresNewerDriver;
        return to_runtime(function(arguments...));
    }
};

// What stream 0 means to the caller, and so which form of a driver entry serves it.
enum DefaultStream : std::size_t { kLegacy, kPerThread };

template <DefaultStream kMode, class Legacy, class PerThread>
constexpr auto choose(Legacy legacy, PerThread per_thread) {
    if constexpr (kMode == kLegacy) {
        return legacy;
    } else {
        return per_thread;
    }
}

}  // namespace cudart

#define DRIVER(name) (::cudart::Entry<decltype(::name), ::cudart::row_of(#name)>{})
// The plain or the per-thread form, by the template parameter kMode of the function around it.
#define DRIVER_PTSZ(name) (::cudart::choose<kMode>(DRIVER(name), DRIVER(name##_ptsz)))
#define DRIVER_PTDS(name) (::cudart::choose<kMode>(DRIVER(name), DRIVER(name##_ptds)))
