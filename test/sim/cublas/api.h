// What cublas_api.h declares beside the functions that the shim knows of: the part that the box has.
#pragma once

#include "cublaslt/api.h"

extern "C" {
cublasStatus_t cublasCreate_v2(cublasHandle_t*);
cublasStatus_t cublasDestroy_v2(cublasHandle_t);
cublasStatus_t cublasGetVersion_v2(cublasHandle_t, int* version);
cublasStatus_t cublasSetStream_v2(cublasHandle_t, CUstream_st*);
}
