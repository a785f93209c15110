// A product is a kernel on the caller's stream, named as one of the real library would be, that takes what
// the box's kernels take. Where one long sum is worth dividing, it is two: parts, and what adds them up.
#include <cuda.h>
#include <dlfcn.h>

#include <algorithm>

#include "descriptions.h"

namespace gpusim::cublaslt {
namespace {

struct DriverApi {
    decltype(&::cuLibraryLoadData) load = nullptr;
    decltype(&::cuLibraryGetKernel) kernel = nullptr;
    decltype(&::cuLaunchKernel) launch = nullptr;
    CUlibrary library = nullptr;
};

// Opened by name and asked by cuGetProcAddress, as the real library does: so what stands between a program
// and the driver stands between it and us.
DriverApi load_driver() {
    using GetProcAddress =
        CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);
    DriverApi api;
    void* const library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == nullptr) return api;
    const auto get = reinterpret_cast<GetProcAddress>(dlsym(library, "cuGetProcAddress_v2"));
    const auto find = [&](const char* name, auto& into) {
        void* found = nullptr;
        if (get != nullptr && get(name, &found, 12000, CU_GET_PROC_ADDRESS_DEFAULT, nullptr) == CUDA_SUCCESS)
            into = reinterpret_cast<std::remove_reference_t<decltype(into)>>(found);
    };
    find("cuLibraryLoadData", api.load);
    find("cuLibraryGetKernel", api.kernel);
    find("cuLaunchKernel", api.launch);
    if (api.load != nullptr)
        api.load(&api.library, "kernels of matrix products", nullptr, nullptr, 0, nullptr, nullptr, 0);
    return api;
}

const DriverApi& driver_api() {
    static const DriverApi* const api = new DriverApi(load_driver());
    return *api;
}

const char* kernel_of(uint64_t type) {
    switch (type) {
        case CUDA_R_64F:
            return "cutlass_80_tensorop_d884gemm_128x64_16x3_nn_align1";
        case CUDA_R_16F:
            return "ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_nn";
        case CUDA_R_16BF:
            return "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_nn";
        default:
            return "ampere_sgemm_128x64_nn";
    }
}

constexpr uint64_t kDividedFrom = 32;  // times the larger of m and n

cublasStatus_t launch(const char* name, unsigned blocks, CUstream stream) {
    const DriverApi& api = driver_api();
    CUkernel kernel = nullptr;
    if (api.kernel == nullptr || api.launch == nullptr ||
        api.kernel(&kernel, api.library, name) != CUDA_SUCCESS)
        return CUBLAS_STATUS_EXECUTION_FAILED;
    const CUresult result = api.launch(reinterpret_cast<CUfunction>(kernel), blocks, 1, 1, 128, 1, 1, 0,
                                       stream, nullptr, nullptr);
    return result == CUDA_SUCCESS ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

}  // namespace
}  // namespace gpusim::cublaslt

using namespace gpusim::cublaslt;

cublasStatus_t cublasLtCreate(cublasLtHandle_t* made) {
    static int one;
    if (made == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    *made = reinterpret_cast<cublasLtHandle_t>(&one);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t) { return CUBLAS_STATUS_SUCCESS; }

size_t cublasLtGetVersion() { return 120900; }

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t product, const void*, const void*,
                              cublasLtMatrixLayout_t a, const void*, cublasLtMatrixLayout_t b, const void*,
                              const void*, cublasLtMatrixLayout_t c, void*, cublasLtMatrixLayout_t d,
                              const cublasLtMatmulAlgo_t*, void*, size_t, CUstream_st* stream) {
    if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (product == nullptr || a == nullptr || b == nullptr || c == nullptr || d == nullptr)
        return CUBLAS_STATUS_INVALID_VALUE;
    const uint64_t m = value_of(*d, Word::rows), n = value_of(*d, Word::columns);
    if (m == 0 || n == 0) return CUBLAS_STATUS_SUCCESS;
    const uint64_t values = value_of(*a, Word::rows) * value_of(*a, Word::columns);
    if (values % m != 0) return CUBLAS_STATUS_INVALID_VALUE;
    const uint64_t batch = std::max<uint64_t>(value_of(*d, Word::batch), 1);
    const auto blocks = static_cast<unsigned>((m + 127) / 128 * ((n + 63) / 64) * batch);
    const cublasStatus_t first = launch(kernel_of(value_of(*a, Word::type)), blocks, stream);
    if (first != CUBLAS_STATUS_SUCCESS || values / m < kDividedFrom * std::max(m, n)) return first;
    return launch("splitKreduce_kernel__2us", blocks, stream);
}
