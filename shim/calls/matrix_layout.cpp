#include "matrix_layout.h"

#include "asked.h"

namespace gpushim::shim {

constinit DescriptionPlaces description_places = {kNowhere, kNowhere, kNowhere, kNowhere, kNowhere, kNowhere};
constinit std::atomic<int> description_state = kNotAsked;

namespace {

ASKED(cublas_lt_function, cublasLtMatrixLayoutCreate);
ASKED(cublas_lt_function, cublasLtMatrixLayoutSetAttribute);
ASKED(cublas_lt_function, cublasLtMatrixLayoutDestroy);
ASKED(cublas_lt_function, cublasLtMatmulDescCreate);
ASKED(cublas_lt_function, cublasLtMatmulDescDestroy);

constexpr size_t kProbes = 3;

struct Bytes {
    unsigned char at[kDescriptionBytes];
};

// The one place where each has its value; kNowhere: there is none, or several.
template <class T>
size_t place_of(const Bytes (&bytes)[kProbes], const T (&values)[kProbes]) {
    size_t found = kNowhere;
    for (size_t place = 0; place + sizeof(T) <= kDescriptionBytes; place += sizeof(T)) {
        bool is_here = true;
        for (size_t i = 0; i < kProbes; ++i) is_here &= described_value<T>(&bytes[i], place) == values[i];
        if (!is_here) continue;
        if (found != kNowhere) return kNowhere;
        found = place;
    }
    return found;
}

constexpr uint32_t kTypes[kProbes] = {CUDA_R_16F, CUDA_R_32F, CUDA_R_16BF};
constexpr uint32_t kBatches[kProbes] = {3, 5, 7};
constexpr uint64_t kRows[kProbes] = {1031, 2053, 4099};
constexpr uint64_t kColumns[kProbes] = {1033, 2063, 4111};
constexpr uint64_t kStrides[kProbes] = {1048576, 4194301, 16777213};
constexpr uint32_t kComputes[kProbes] = {CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_16F, CUBLAS_COMPUTE_64F};
constexpr cudaDataType kScales[kProbes] = {CUDA_R_32F, CUDA_R_16F, CUDA_R_64F};

bool make_layout(size_t i, Bytes& bytes) {
    auto* create = asked_cublasLtMatrixLayoutCreate.get();
    auto* set = asked_cublasLtMatrixLayoutSetAttribute.get();
    auto* destroy = asked_cublasLtMatrixLayoutDestroy.get();
    cublasLtMatrixLayout_t made = nullptr;
    if (create == nullptr || set == nullptr || destroy == nullptr) return false;
    if (create(&made, static_cast<cudaDataType>(kTypes[i]), kRows[i], kColumns[i],
               static_cast<int64_t>(kRows[i]) + 64) != CUBLAS_STATUS_SUCCESS)
        return false;
    const bool is_set = set(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &kBatches[i], sizeof kBatches[i]) ==
                            CUBLAS_STATUS_SUCCESS &&
                        set(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &kStrides[i],
                            sizeof kStrides[i]) == CUBLAS_STATUS_SUCCESS;
    std::memcpy(&bytes, made, sizeof bytes);
    destroy(made);
    return is_set;
}

bool make_product(size_t i, Bytes& bytes) {
    auto* create = asked_cublasLtMatmulDescCreate.get();
    auto* destroy = asked_cublasLtMatmulDescDestroy.get();
    cublasLtMatmulDesc_t made = nullptr;
    if (create == nullptr || destroy == nullptr) return false;
    if (create(&made, static_cast<cublasComputeType_t>(kComputes[i]), kScales[i]) != CUBLAS_STATUS_SUCCESS)
        return false;
    std::memcpy(&bytes, made, sizeof bytes);
    destroy(made);
    return true;
}

DescriptionPlaces places_found() {
    Bytes layouts[kProbes], products[kProbes];
    DescriptionPlaces found = description_places;
    bool has_layouts = true, has_products = true;
    for (size_t i = 0; i < kProbes; ++i) {
        has_layouts = has_layouts && make_layout(i, layouts[i]);
        has_products = has_products && make_product(i, products[i]);
    }
    if (has_layouts)
        found = {place_of(layouts, kTypes),   place_of(layouts, kBatches), place_of(layouts, kRows),
                 place_of(layouts, kColumns), place_of(layouts, kStrides), kNowhere};
    if (has_products) found.compute = place_of(products, kComputes);
    return found;
}

bool are_found(const DescriptionPlaces& at) {
    return at.type != kNowhere && at.batch != kNowhere && at.rows != kNowhere && at.columns != kNowhere &&
           at.stride != kNowhere;
}

}  // namespace

bool ask_for_places() {
    int before = kNotAsked;
    if (!description_state.compare_exchange_strong(before, kAsking)) return before == kFound;
    description_places = places_found();
    const bool found = are_found(description_places);
    description_state.store(found ? kFound : kNotFound, std::memory_order_release);
    return found;
}

}  // namespace gpushim::shim
