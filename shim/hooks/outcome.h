// What a result means, by its type: CUDA's, NCCL's, cuBLAS'. Also what a call answers that has nowhere to go
// on to.
#pragma once

#include <nccl.h>

#include "../calls/cublas_api.h"
#include "../calls/driver_api.h"
#include "../calls/resolve.h"
#include "../ring/ticks.h"

namespace gpushim::shim {

inline bool succeeded(CUresult result) { return result == CUDA_SUCCESS; }
// A communicator that does not block is being made while its handle is given.
inline bool succeeded(ncclResult_t result) { return result == ncclSuccess || result == ncclInProgress; }
inline bool succeeded(cublasStatus_t result) { return result == CUBLAS_STATUS_SUCCESS; }

inline bool is_not_ready(CUresult result) { return result == CUDA_ERROR_NOT_READY; }
inline bool is_not_ready(ncclResult_t) { return false; }
inline bool is_not_ready(cublasStatus_t) { return false; }

// A capture is also over when it turns out to be no good.
inline bool ends_capture(CUresult result) {
    return result == CUDA_SUCCESS || result == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED ||
           result == CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
}

template <class R>
R absent();

// By exporting these names we make a library look present that may not be.
template <>
inline CUresult absent<CUresult>() {
    return driver_is_there() ? CUDA_ERROR_NOT_FOUND : CUDA_ERROR_NO_DEVICE;
}
template <>
inline ncclResult_t absent<ncclResult_t>() {
    return nccl_is_there() ? ncclInvalidUsage : ncclSystemError;
}
template <>
inline cublasStatus_t absent<cublasStatus_t>() {
    return CUBLAS_STATUS_NOT_INITIALIZED;
}

// A time taken before it is decided which clock counts.
struct Stamp {
    uint64_t counter;

    uint64_t ticks() const { return process_state->clock_kind == kCounter ? counter : shim::ticks(); }
};

inline Stamp stamp() {
#if defined(__x86_64__)
    return {__builtin_ia32_rdtsc()};
#elif defined(__aarch64__)
    uint64_t value;
    asm volatile("mrs %0, cntvct_el0" : "=r"(value));
    return {value};
#endif
}

}  // namespace gpushim::shim
