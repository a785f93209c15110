// What cublasLt.h declares beside the functions that the shim knows of: the part that the box has.
#pragma once

#include "shim/calls/cublas_api.h"

extern "C" {
typedef enum : int {
    CUBLASLT_MATMUL_DESC_COMPUTE_TYPE = 0,
    CUBLASLT_MATMUL_DESC_SCALE_TYPE = 1
} cublasLtMatmulDescAttributes_t;

cublasStatus_t cublasLtCreate(cublasLtHandle_t*);
cublasStatus_t cublasLtDestroy(cublasLtHandle_t);
size_t cublasLtGetVersion();
cublasStatus_t cublasLtMatrixLayoutGetAttribute(cublasLtMatrixLayout_t, cublasLtMatrixLayoutAttribute_t,
                                                void* value, size_t bytes, size_t* written);
cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t,
                                              void* value, size_t bytes, size_t* written);
}
