// Every form of a product goes on to cublasLtMatmul by its exported name, as the real library's do in part: a
// preload sees one call inside of another.
#include <new>

#include "api.h"

struct cublasContext {
    cublasLtHandle_t lt;
    CUstream_st* stream;
};

namespace {

struct Product {
    int64_t m, n, k, batch;
    cudaDataType a, b, c;
    cublasComputeType_t compute;
};

struct Layout {
    cublasLtMatrixLayout_t made = nullptr;
    Layout(cudaDataType type, int64_t rows, int64_t columns, int64_t batch) {
        cublasLtMatrixLayoutCreate(&made, type, static_cast<uint64_t>(rows), static_cast<uint64_t>(columns),
                                   rows);
        const auto count = static_cast<int32_t>(batch);
        cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count);
    }
    ~Layout() { cublasLtMatrixLayoutDestroy(made); }
    Layout(const Layout&) = delete;
    Layout& operator=(const Layout&) = delete;
};

cublasStatus_t multiply(cublasHandle_t handle, const Product& p) {
    if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (p.m < 0 || p.n < 0 || p.k < 0 || p.batch < 0) return CUBLAS_STATUS_INVALID_VALUE;
    if (p.batch == 0) return CUBLAS_STATUS_SUCCESS;
    cublasLtMatmulDesc_t how = nullptr;
    cublasLtMatmulDescCreate(&how, p.compute, CUDA_R_32F);
    const Layout a(p.a, p.m, p.k, p.batch), b(p.b, p.k, p.n, p.batch), c(p.c, p.m, p.n, p.batch);
    const cublasStatus_t result =
        cublasLtMatmul(handle->lt, how, nullptr, nullptr, a.made, nullptr, b.made, nullptr, nullptr, c.made,
                       nullptr, c.made, nullptr, nullptr, 0, handle->stream);
    cublasLtMatmulDescDestroy(how);
    return result;
}

}  // namespace

cublasStatus_t cublasCreate_v2(cublasHandle_t* made) {
    if (made == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    auto* handle = new cublasContext{};
    cublasLtCreate(&handle->lt);
    *made = handle;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
    delete handle;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetVersion_v2(cublasHandle_t, int* version) {
    *version = 120900;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, CUstream_st* stream) {
    if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
    handle->stream = stream;
    return CUBLAS_STATUS_SUCCESS;
}

#define OF_ONE_TYPE(name, batched, strided, integer, value, type, compute)                                   \
    cublasStatus_t name(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, integer m, integer n,   \
                        integer k, const value*, const value*, integer, const value*, integer, const value*, \
                        value*, integer) {                                                                   \
        return multiply(handle, {m, n, k, 1, type, type, type, compute});                                    \
    }                                                                                                        \
    cublasStatus_t batched(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, integer m,           \
                           integer n, integer k, const value*, const value* const[], integer,                \
                           const value* const[], integer, const value*, value* const[], integer,             \
                           integer batch) {                                                                  \
        return multiply(handle, {m, n, k, batch, type, type, type, compute});                                \
    }                                                                                                        \
    cublasStatus_t strided(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, integer m,           \
                           integer n, integer k, const value*, const value*, integer, long long,             \
                           const value*, integer, long long, const value*, value*, integer, long long,       \
                           integer batch) {                                                                  \
        return multiply(handle, {m, n, k, batch, type, type, type, compute});                                \
    }
#define OF_ANY_TYPE(name, batched, strided, integer)                                                        \
    cublasStatus_t name(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, integer m, integer n,  \
                        integer k, const void*, const void*, cudaDataType a, integer, const void*,          \
                        cudaDataType b, integer, const void*, void*, cudaDataType c, integer,               \
                        cublasComputeType_t compute, cublasGemmAlgo_t) {                                    \
        return multiply(handle, {m, n, k, 1, a, b, c, compute});                                            \
    }                                                                                                       \
    cublasStatus_t batched(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, integer m,          \
                           integer n, integer k, const void*, const void* const[], cudaDataType a, integer, \
                           const void* const[], cudaDataType b, integer, const void*, void* const[],        \
                           cudaDataType c, integer, integer batch, cublasComputeType_t compute,             \
                           cublasGemmAlgo_t) {                                                              \
        return multiply(handle, {m, n, k, batch, a, b, c, compute});                                        \
    }                                                                                                       \
    cublasStatus_t strided(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, integer m,          \
                           integer n, integer k, const void*, const void*, cudaDataType a, integer,         \
                           long long, const void*, cudaDataType b, integer, long long, const void*, void*,  \
                           cudaDataType c, integer, long long, integer batch, cublasComputeType_t compute,  \
                           cublasGemmAlgo_t) {                                                              \
        return multiply(handle, {m, n, k, batch, a, b, c, compute});                                        \
    }

#define IN_BOTH_SIZES(letter, plain, value, type, compute)                                                   \
    OF_ONE_TYPE(cublas##letter##plain, cublas##letter##gemmBatched, cublas##letter##gemmStridedBatched, int, \
                value, type, compute)                                                                        \
    OF_ONE_TYPE(cublas##letter##plain##_64, cublas##letter##gemmBatched_64,                                  \
                cublas##letter##gemmStridedBatched_64, int64_t, value, type, compute)
IN_BOTH_SIZES(S, gemm_v2, float, CUDA_R_32F, CUBLAS_COMPUTE_32F)
IN_BOTH_SIZES(D, gemm_v2, double, CUDA_R_64F, CUBLAS_COMPUTE_64F)
IN_BOTH_SIZES(H, gemm, struct __half, CUDA_R_16F, CUBLAS_COMPUTE_16F)
OF_ANY_TYPE(cublasGemmEx, cublasGemmBatchedEx, cublasGemmStridedBatchedEx, int)
OF_ANY_TYPE(cublasGemmEx_64, cublasGemmBatchedEx_64, cublasGemmStridedBatchedEx_64, int64_t)
