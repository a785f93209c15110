// descriptions LIBRARY: whether shim/calls/matrix_layout.cpp reads what the real cuBLASLt was told. None of
// this needs a GPU.
#include <dlfcn.h>

#include <cstdio>

#include "shim/calls/matrix_layout.h"

namespace {

void* library;

template <class Function>
Function* found(const char* name) {
    return reinterpret_cast<Function*>(dlsym(library, name));
}

struct Told {
    cudaDataType type;
    uint64_t rows, columns;
    int32_t batch;
    int64_t stride;
};

bool is_read(const Told& told) {
    using namespace gpushim::shim;
    cublasLtMatrixLayout_t made = nullptr;
    const auto leading = static_cast<int64_t>(told.rows);
    const auto create = found<decltype(::cublasLtMatrixLayoutCreate)>("cublasLtMatrixLayoutCreate");
    const auto set = found<decltype(::cublasLtMatrixLayoutSetAttribute)>("cublasLtMatrixLayoutSetAttribute");
    if (create(&made, told.type, told.rows, told.columns, leading) != CUBLAS_STATUS_SUCCESS) return false;
    set(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &told.batch, sizeof told.batch);
    set(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &told.stride, sizeof told.stride);
    return rows_of(made) == told.rows && columns_of(made) == told.columns && type_of(made) == told.type &&
           batch_of(made) == static_cast<uint64_t>(told.batch) &&
           stride_of(made) == static_cast<uint64_t>(told.stride) && has_size(made);
}

bool is_read(cublasComputeType_t compute) {
    using namespace gpushim::shim;
    cublasLtMatmulDesc_t made = nullptr;
    const auto create = found<decltype(::cublasLtMatmulDescCreate)>("cublasLtMatmulDescCreate");
    return create(&made, compute, CUDA_R_32F) == CUBLAS_STATUS_SUCCESS &&
           description_places.compute != kNowhere &&
           described_value<uint32_t>(made, description_places.compute) == static_cast<uint32_t>(compute);
}

}  // namespace

namespace gpushim::shim {
void* cublas_lt_function(const char* name) { return dlsym(library, name); }
}  // namespace gpushim::shim

int main(int count, char** words) {
    library = count > 1 ? dlopen(words[1], RTLD_NOW) : nullptr;
    if (library == nullptr) return std::puts(dlerror()), 1;
    if (!gpushim::shim::can_read_layouts()) return std::puts("it is not found where values are"), 1;
    constexpr Told kTold[] = {{CUDA_R_16F, 1, 1, 1, 0},
                              {CUDA_R_32F, 4096, 11008, 1, 0},
                              {CUDA_R_8F_E4M3, 128, 64, 12, 8192},
                              {CUDA_R_64F, 2147483647, 3, 65535, 0}};
    for (const Told& told : kTold)
        if (!is_read(told)) return std::printf("wrong for %d x %d\n", int(told.rows), int(told.columns)), 1;
    for (const auto compute : {CUBLAS_COMPUTE_16F, CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_64F})
        if (!is_read(compute)) return std::printf("wrong for arithmetic %d\n", int{compute}), 1;
    std::puts("read");
    return 0;
}
