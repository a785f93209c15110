// What is hooked of cuBLAS and cuBLASLt, and what we ask of them ourselves, declared by their published
// documentation: the same in cuBLAS 11 to 13 as far as a call goes, so their headers are not needed. `make
// test-more` compares it with the headers of NVIDIA's wheels.
#pragma once

#include <library_types.h>

#include <cstddef>
#include <cstdint>

struct CUstream_st;

extern "C" {
typedef struct cublasContext* cublasHandle_t;
typedef struct cublasLtContext* cublasLtHandle_t;
typedef struct cublasLtMatmulDesc* cublasLtMatmulDesc_t;
typedef struct cublasLtMatrixLayout* cublasLtMatrixLayout_t;
typedef struct cublasLtMatmulAlgo cublasLtMatmulAlgo_t;

typedef enum : int {
    CUBLAS_STATUS_SUCCESS = 0,
    CUBLAS_STATUS_NOT_INITIALIZED = 1,
    CUBLAS_STATUS_INVALID_VALUE = 7,
    CUBLAS_STATUS_EXECUTION_FAILED = 13,
    CUBLAS_STATUS_NOT_SUPPORTED = 15
} cublasStatus_t;
typedef enum : int { CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C } cublasOperation_t;
typedef enum : int {
    CUBLAS_COMPUTE_16F = 64,
    CUBLAS_COMPUTE_32F = 68,
    CUBLAS_COMPUTE_64F = 70
} cublasComputeType_t;
typedef enum : int { CUBLAS_GEMM_DEFAULT = -1 } cublasGemmAlgo_t;
typedef enum : int {
    CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT = 5,
    CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET = 6
} cublasLtMatrixLayoutAttribute_t;

// C = alpha * A * B + beta * C by itself, of several given by their addresses, and of several that lie
// equally far apart; sizes are `int`, or int64_t in a name that ends in _64.
#define GPUSHIM_GEMM(name, batched, strided, integer, value)                                               \
    cublasStatus_t name(cublasHandle_t, cublasOperation_t, cublasOperation_t, integer m, integer n,        \
                        integer k, const value* alpha, const value* a, integer lda, const value* b,        \
                        integer ldb, const value* beta, value* c, integer ldc);                            \
    cublasStatus_t batched(cublasHandle_t, cublasOperation_t, cublasOperation_t, integer m, integer n,     \
                           integer k, const value* alpha, const value* const a[], integer lda,             \
                           const value* const b[], integer ldb, const value* beta, value* const c[],       \
                           integer ldc, integer batch);                                                    \
    cublasStatus_t strided(cublasHandle_t, cublasOperation_t, cublasOperation_t, integer m, integer n,     \
                           integer k, const value* alpha, const value* a, integer lda, long long a_stride, \
                           const value* b, integer ldb, long long b_stride, const value* beta, value* c,   \
                           integer ldc, long long c_stride, integer batch);
#define GPUSHIM_GEMM_EX(name, batched, strided, integer)                                                     \
    cublasStatus_t name(cublasHandle_t, cublasOperation_t, cublasOperation_t, integer m, integer n,          \
                        integer k, const void* alpha, const void* a, cudaDataType, integer lda,              \
                        const void* b, cudaDataType, integer ldb, const void* beta, void* c, cudaDataType,   \
                        integer ldc, cublasComputeType_t, cublasGemmAlgo_t);                                 \
    cublasStatus_t batched(cublasHandle_t, cublasOperation_t, cublasOperation_t, integer m, integer n,       \
                           integer k, const void* alpha, const void* const a[], cudaDataType, integer lda,   \
                           const void* const b[], cudaDataType, integer ldb, const void* beta,               \
                           void* const c[], cudaDataType, integer ldc, integer batch, cublasComputeType_t,   \
                           cublasGemmAlgo_t);                                                                \
    cublasStatus_t strided(cublasHandle_t, cublasOperation_t, cublasOperation_t, integer m, integer n,       \
                           integer k, const void* alpha, const void* a, cudaDataType, integer lda,           \
                           long long a_stride, const void* b, cudaDataType, integer ldb, long long b_stride, \
                           const void* beta, void* c, cudaDataType, integer ldc, long long c_stride,         \
                           integer batch, cublasComputeType_t, cublasGemmAlgo_t);

GPUSHIM_GEMM(cublasSgemm_v2, cublasSgemmBatched, cublasSgemmStridedBatched, int, float)
GPUSHIM_GEMM(cublasDgemm_v2, cublasDgemmBatched, cublasDgemmStridedBatched, int, double)
GPUSHIM_GEMM(cublasHgemm, cublasHgemmBatched, cublasHgemmStridedBatched, int, struct __half)
GPUSHIM_GEMM_EX(cublasGemmEx, cublasGemmBatchedEx, cublasGemmStridedBatchedEx, int)
GPUSHIM_GEMM(cublasSgemm_v2_64, cublasSgemmBatched_64, cublasSgemmStridedBatched_64, int64_t, float)
GPUSHIM_GEMM(cublasDgemm_v2_64, cublasDgemmBatched_64, cublasDgemmStridedBatched_64, int64_t, double)
GPUSHIM_GEMM(cublasHgemm_64, cublasHgemmBatched_64, cublasHgemmStridedBatched_64, int64_t, struct __half)
GPUSHIM_GEMM_EX(cublasGemmEx_64, cublasGemmBatchedEx_64, cublasGemmStridedBatchedEx_64, int64_t)
#undef GPUSHIM_GEMM
#undef GPUSHIM_GEMM_EX

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t, const void* alpha, const void* a,
                              cublasLtMatrixLayout_t, const void* b, cublasLtMatrixLayout_t, const void* beta,
                              const void* c, cublasLtMatrixLayout_t, void* d, cublasLtMatrixLayout_t,
                              const cublasLtMatmulAlgo_t*, void* workspace, size_t workspace_bytes,
                              struct CUstream_st*);
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t*, cudaDataType, uint64_t rows,
                                          uint64_t columns, int64_t leading);
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t, cublasLtMatrixLayoutAttribute_t,
                                                const void* value, size_t bytes);
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t);
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t*, cublasComputeType_t, cudaDataType scale);
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t);
}
