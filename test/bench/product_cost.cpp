// What a hooked matrix product costs beside the same call past the shim and beside one with two time stamps
// around it: of cuBLAS, which is given sizes and types, and of cuBLASLt, which is given descriptions.
//
//   product_cost gemm | matmul
#include <string_view>

#include "../../shim/calls/cublas_api.h"
#include "ways.h"

namespace bench {
namespace {

struct Products {
    decltype(&::cublasGemmEx) gemm = nullptr;
    decltype(&::cublasLtMatmul) matmul = nullptr;
};
Products plain, through;
cublasLtMatrixLayout_t layout;
cublasLtMatmulDesc_t how;

void multiply(const Products& by) {
    if (by.gemm != nullptr)
        by.gemm(nullptr, CUBLAS_OP_N, CUBLAS_OP_N, 1024, 1024, 1024, nullptr, nullptr, CUDA_R_16F, 1024,
                nullptr, CUDA_R_16F, 1024, nullptr, nullptr, CUDA_R_16F, 1024, CUBLAS_COMPUTE_32F,
                CUBLAS_GEMM_DEFAULT);
    else
        by.matmul(nullptr, how, nullptr, nullptr, layout, nullptr, layout, nullptr, nullptr, layout, nullptr,
                  layout, nullptr, nullptr, 0, nullptr);
}

void multiply_plain(const Driver&, int count) {
    for (int i = 0; i < count; ++i) multiply(plain);
}
void multiply_stamped(const Driver&, int count) {
    for (int i = 0; i < count; ++i) {
        const uint64_t enter = ticks();
        multiply(plain);
        sink = ticks() - enter;
    }
}
void multiply_through(const Driver&, int count) {
    for (int i = 0; i < count; ++i) multiply(through);
}

template <class Function>
Function found(void* library, const char* name) {
    void* address = library != nullptr ? dlsym(library, name) : nullptr;
    if (address == nullptr) std::abort();
    return reinterpret_cast<Function>(address);
}

void find_products(bool of_lt) {
    void* const library = dlopen(of_lt ? "libcublasLt.so.12" : "libcublas.so.12", RTLD_NOW);
    if (!of_lt) {
        plain.gemm =
            reinterpret_cast<decltype(plain.gemm)>(found<void* (*)()>(library, "bench_plain_gemm")());
        through.gemm = found<decltype(through.gemm)>(library, "cublasGemmEx");
        return;
    }
    plain.matmul =
        reinterpret_cast<decltype(plain.matmul)>(found<void* (*)()>(library, "bench_plain_matmul")());
    through.matmul = found<decltype(through.matmul)>(library, "cublasLtMatmul");
    found<decltype(&::cublasLtMatrixLayoutCreate)>(library, "cublasLtMatrixLayoutCreate")(&layout, CUDA_R_16F,
                                                                                          1024, 1024, 1024);
    found<decltype(&::cublasLtMatmulDescCreate)>(library, "cublasLtMatmulDescCreate")(
        &how, CUBLAS_COMPUTE_32F, CUDA_R_32F);
}

}  // namespace
}  // namespace bench

int main(int count, char** words) {
    const bool of_lt = count > 1 && std::string_view(words[1]) == "matmul";
    bench::Driver driver;
    driver.start();
    bench::find_products(of_lt);
    for (int i = 0; i < 100; ++i) bench::multiply(bench::through);
    std::vector<bench::Way> ways = {{"plain", bench::multiply_plain, {}},
                                    {"stamped", bench::multiply_stamped, {}},
                                    {"through", bench::multiply_through, {}}};
    bench::measure_bursts(driver, ways, true);
    bench::print(ways);
    return 0;
}
