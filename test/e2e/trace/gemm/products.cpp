// Matrix products in each form, each followed by a kernel of the program's own. `graph`: captured, and
// launched twice.
#include <cuda.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cublas/api.h"

namespace {

CUstream stream;
CUfunction own;
cublasHandle_t handle;
cublasLtHandle_t lt;

void check(int result, const char* what, int expected = 0) {
    if (result == expected) return;
    std::printf("%s: %d\n", what, result);
    std::exit(1);
}
#define CHECK(call) check(call, #call)

void launch_own() { CHECK(cuLaunchKernel(own, 1, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr)); }

cublasLtMatrixLayout_t layout(cudaDataType type, uint64_t rows, uint64_t columns, int32_t batch,
                              int64_t stride) {
    cublasLtMatrixLayout_t made;
    CHECK(cublasLtMatrixLayoutCreate(&made, type, rows, columns, static_cast<int64_t>(rows)));
    CHECK(cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch));
    CHECK(cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
                                           sizeof stride));
    return made;
}

// A is given transposed, as k rows of m, and is the same one for all; types as a product in float8 has them.
void by_layouts() {
    cublasLtMatmulDesc_t how;
    CHECK(cublasLtMatmulDescCreate(&how, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    const auto a = layout(CUDA_R_8F_E4M3, 64, 96, 4, 0), b = layout(CUDA_R_8F_E5M2, 64, 32, 4, 64 * 32),
               d = layout(CUDA_R_16BF, 96, 32, 4, 96 * 32);
    CHECK(cublasLtMatmul(lt, how, nullptr, nullptr, a, nullptr, b, nullptr, nullptr, d, nullptr, d, nullptr,
                         nullptr, 0, stream));
}

void one_by_one() {
    const cublasOperation_t n = CUBLAS_OP_N;
    CHECK(cublasSgemm_v2(handle, n, n, 1024, 512, 256, nullptr, nullptr, 1024, nullptr, 256, nullptr, nullptr,
                         1024));
    launch_own();
    CHECK(cublasGemmEx(handle, n, n, 64, 32, 8192, nullptr, nullptr, CUDA_R_16F, 64, nullptr, CUDA_R_16F,
                       8192, nullptr, nullptr, CUDA_R_16F, 64, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    launch_own();
    CHECK(cublasDgemmBatched(handle, n, n, 16, 8, 4, nullptr, nullptr, 16, nullptr, 4, nullptr, nullptr, 16,
                             10));
    launch_own();
    CHECK(cublasHgemmStridedBatched_64(handle, n, n, 128, 64, 32, nullptr, nullptr, 128, 128 * 32, nullptr,
                                       32, 0, nullptr, nullptr, 128, 128 * 64, 6));
    launch_own();
    by_layouts();
    launch_own();
    check(cublasSgemm_v2(handle, n, n, -1, 1, 1, nullptr, nullptr, 1, nullptr, 1, nullptr, nullptr, 1),
          "a product of -1 rows", CUBLAS_STATUS_INVALID_VALUE);
    launch_own();
}

void in_a_graph() {
    const cublasOperation_t n = CUBLAS_OP_N;
    CUgraph graph;
    CUgraphExec exec;
    CHECK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CHECK(cublasSgemm_v2(handle, n, n, 1024, 512, 256, nullptr, nullptr, 1024, nullptr, 256, nullptr, nullptr,
                         1024));
    CHECK(cuStreamEndCapture(stream, &graph));
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (int i = 0; i < 2; ++i) CHECK(cuGraphLaunch(exec, stream));
}

}  // namespace

int main(int count, char** words) {
    CUcontext context;
    CUmodule module;
    CHECK(cuInit(0));
    CHECK(cuCtxCreate_v4(&context, nullptr, 0, 0));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuModuleLoadData(&module, "an image"));
    CHECK(cuModuleGetFunction(&own, module, "own__5us"));
    CHECK(cublasCreate_v2(&handle));
    CHECK(cublasSetStream_v2(handle, stream));
    CHECK(cublasLtCreate(&lt));
    count > 1 && std::strcmp(words[1], "graph") == 0 ? in_a_graph() : one_by_one();
    CHECK(cuStreamSynchronize(stream));
    std::puts("done");
    return 0;
}
