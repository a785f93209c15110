// libcublas.so.12 and libcublasLt.so.12 that do nothing, at once, as null_driver.cpp. Descriptions of
// matrices are kept, because the shim reads them. bench_plain_…() give the addresses that no preload stands
// in front of.
#include "../../shim/calls/cublas_api.h"

#define API extern "C" __attribute__((visibility("default")))

struct cublasLtMatrixLayout {
    uint64_t type, rows, columns, leading, values[4];
};
struct cublasLtMatmulDesc {
    uint64_t compute, scale, spare[30];
};

namespace {

cublasStatus_t gemm(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void*,
                    const void*, cudaDataType, int, const void*, cudaDataType, int, const void*, void*,
                    cudaDataType, int, cublasComputeType_t, cublasGemmAlgo_t) {
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t matmul(cublasLtHandle_t, cublasLtMatmulDesc_t, const void*, const void*,
                      cublasLtMatrixLayout_t, const void*, cublasLtMatrixLayout_t, const void*, const void*,
                      cublasLtMatrixLayout_t, void*, cublasLtMatrixLayout_t, const cublasLtMatmulAlgo_t*,
                      void*, size_t, CUstream_st*) {
    return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

API cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m,
                                int n, int k, const void* alpha, const void* a, cudaDataType at, int lda,
                                const void* b, cudaDataType bt, int ldb, const void* beta, void* c,
                                cudaDataType ct, int ldc, cublasComputeType_t compute,
                                cublasGemmAlgo_t algorithm) {
    return gemm(handle, ta, tb, m, n, k, alpha, a, at, lda, b, bt, ldb, beta, c, ct, ldc, compute, algorithm);
}

API cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t product, const void* alpha,
                                  const void* a, cublasLtMatrixLayout_t al, const void* b,
                                  cublasLtMatrixLayout_t bl, const void* beta, const void* c,
                                  cublasLtMatrixLayout_t cl, void* d, cublasLtMatrixLayout_t dl,
                                  const cublasLtMatmulAlgo_t* algorithm, void* workspace, size_t bytes,
                                  CUstream_st* stream) {
    return matmul(handle, product, alpha, a, al, b, bl, beta, c, cl, d, dl, algorithm, workspace, bytes,
                  stream);
}

API cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* made, cudaDataType type, uint64_t rows,
                                              uint64_t columns, int64_t leading) {
    *made = new cublasLtMatrixLayout{
        static_cast<uint64_t>(type), rows, columns, static_cast<uint64_t>(leading), {1, 0, 0, 0}};
    return CUBLAS_STATUS_SUCCESS;
}

API cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                    cublasLtMatrixLayoutAttribute_t which, const void* value,
                                                    size_t bytes) {
    layout->values[which - CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT] =
        bytes == 4 ? *static_cast<const uint32_t*>(value) : *static_cast<const uint64_t*>(value);
    return CUBLAS_STATUS_SUCCESS;
}

API cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
    delete layout;
    return CUBLAS_STATUS_SUCCESS;
}

API cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* made, cublasComputeType_t compute,
                                            cudaDataType scale) {
    *made = new cublasLtMatmulDesc{static_cast<uint64_t>(compute), static_cast<uint64_t>(scale), {}};
    return CUBLAS_STATUS_SUCCESS;
}

API cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t product) {
    delete product;
    return CUBLAS_STATUS_SUCCESS;
}

API void* bench_plain_gemm() { return reinterpret_cast<void*>(&gemm); }
API void* bench_plain_matmul() { return reinterpret_cast<void*>(&matmul); }
