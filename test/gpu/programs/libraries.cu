// cuBLAS and cuBLASLt, called as a program of nvcc calls them. As a program it prints the result to the bit;
// as a library it is run next to a profiler.
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

constexpr int kSize = 128, kTimes = 12;

#define CHECK(call)                                             \
    if (const int error = static_cast<int>(call); error != 0) { \
        std::fprintf(stderr, "%s: %d\n", #call, error);         \
        return error;                                           \
    }

static int by_cublas(const float* a, const float* b, float* c) {
    cublasHandle_t handle = nullptr;
    const float one = 1, none = 0;
    CHECK(cublasCreate(&handle));
    for (int i = 0; i < kTimes; ++i)
        CHECK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, kSize, kSize, kSize, &one, a, kSize, b, kSize,
                          &none, c, kSize));
    CHECK(cudaDeviceSynchronize());
    return static_cast<int>(cublasDestroy(handle));
}

static int by_cublaslt(const float* a, const float* b, float* c) {
    cublasLtHandle_t handle = nullptr;
    cublasLtMatmulDesc_t product = nullptr;
    cublasLtMatrixLayout_t square = nullptr;
    const float one = 1, none = 0;
    CHECK(cublasLtCreate(&handle));
    CHECK(cublasLtMatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    CHECK(cublasLtMatrixLayoutCreate(&square, CUDA_R_32F, kSize, kSize, kSize));
    for (int i = 0; i < kTimes; ++i)
        CHECK(cublasLtMatmul(handle, product, &one, a, square, b, square, &none, c, square, c, square,
                             nullptr, nullptr, 0, nullptr));
    CHECK(cudaDeviceSynchronize());
    CHECK(cublasLtMatrixLayoutDestroy(square));
    CHECK(cublasLtMatmulDescDestroy(product));
    return static_cast<int>(cublasLtDestroy(handle));
}

extern "C" int libraries_work(double* result) {
    std::vector<float> host(kSize * kSize);
    for (size_t i = 0; i < host.size(); ++i) host[i] = static_cast<float>(i % 17) * 0.25f - 1;
    const size_t bytes = host.size() * sizeof(float);
    float *a = nullptr, *b = nullptr, *c = nullptr;
    for (float** data : {&a, &b, &c}) CHECK(cudaMalloc(data, bytes));
    CHECK(cudaMemcpy(a, host.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(b, a, bytes, cudaMemcpyDeviceToDevice));
    CHECK(cudaMemset(c, 0, bytes));
    *result = 0;
    for (auto* library : {by_cublas, by_cublaslt}) {
        CHECK(library(a, b, c));
        CHECK(cudaMemcpy(host.data(), c, bytes, cudaMemcpyDeviceToHost));
        for (float value : host) *result += value;
    }
    for (float* data : {a, b, c}) CHECK(cudaFree(data));
    return 0;
}

int main() {
    double result = 0;
    CHECK(libraries_work(&result));
    std::printf("%a\n", result);
    return 0;
}
