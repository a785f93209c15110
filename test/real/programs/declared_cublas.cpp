// What shim/calls/cublas_api.h declares, beside what cuBLAS's and cuBLASLt's headers do, as in
// declared_cuda.cpp.
#include <cublasLt.h>
#include <cublas_api.h>
#include <library_types.h>

#include <cstddef>
#include <cstdint>

namespace ours {
#include "ours.h"
}

#include "same_call.h"

#define SAME(name) static_assert(same_call<decltype(&ours::name), decltype(&::name)>, #name);
#include "functions.inc"

#define SAME_NUMBER(name) static_assert(int{ours::name} == int{::name}, #name)
SAME_NUMBER(CUBLAS_STATUS_SUCCESS);
SAME_NUMBER(CUBLAS_STATUS_NOT_INITIALIZED);
SAME_NUMBER(CUBLAS_STATUS_INVALID_VALUE);
SAME_NUMBER(CUBLAS_STATUS_EXECUTION_FAILED);
SAME_NUMBER(CUBLAS_STATUS_NOT_SUPPORTED);
SAME_NUMBER(CUBLAS_OP_N);
SAME_NUMBER(CUBLAS_OP_T);
SAME_NUMBER(CUBLAS_OP_C);
SAME_NUMBER(CUBLAS_COMPUTE_16F);
SAME_NUMBER(CUBLAS_COMPUTE_32F);
SAME_NUMBER(CUBLAS_COMPUTE_64F);
SAME_NUMBER(CUBLAS_GEMM_DEFAULT);
SAME_NUMBER(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
SAME_NUMBER(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);

// So much of a description is read (matrix_layout.h).
static_assert(sizeof(cublasLtMatrixLayoutOpaque_t) >= 64 && sizeof(cublasLtMatmulDescOpaque_t) >= 64);
