#include "descriptions.h"

#include <cstring>
#include <new>

#include "engine/knobs.h"

namespace gpusim::cublaslt {
namespace {

// The attribute's word, and its bytes in cublasLt.h.
struct Attribute {
    Word word;
    size_t bytes;
};
constexpr Attribute kAttributes[] = {{Word::type, 4},    {Word::type, 0},    {Word::rows, 8},
                                     {Word::columns, 8}, {Word::leading, 8}, {Word::batch, 4},
                                     {Word::stride, 8}};

const Attribute* attribute(int number, size_t bytes) {
    const bool is_known = number >= 0 && number <= CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET;
    return is_known && kAttributes[number].bytes == bytes && bytes != 0 ? &kAttributes[number] : nullptr;
}

}  // namespace

uint64_t& word_of(cublasLtMatrixLayout& layout, Word word) {
    return layout.words[(static_cast<size_t>(word) + static_cast<size_t>(knobs().cublaslt_order)) % 8];
}

}  // namespace gpusim::cublaslt

using gpusim::cublaslt::attribute;
using gpusim::cublaslt::Word;
using gpusim::cublaslt::word_of;

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* made, cudaDataType type, uint64_t rows,
                                          uint64_t columns, int64_t leading) {
    if (made == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    auto* layout = new cublasLtMatrixLayout{};
    word_of(*layout, Word::type) = static_cast<uint64_t>(type);
    word_of(*layout, Word::rows) = rows;
    word_of(*layout, Word::columns) = columns;
    word_of(*layout, Word::leading) = static_cast<uint64_t>(leading);
    word_of(*layout, Word::batch) = 1;
    *made = layout;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
    delete layout;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t which, const void* value,
                                                size_t bytes) {
    const auto* found = attribute(which, bytes);
    if (layout == nullptr || value == nullptr || found == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    std::memcpy(&word_of(*layout, found->word), value, bytes);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutGetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t which, void* value,
                                                size_t bytes, size_t* written) {
    const auto* found = attribute(which, bytes);
    if (layout == nullptr || value == nullptr || found == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    std::memcpy(value, &word_of(*layout, found->word), bytes);
    if (written != nullptr) *written = bytes;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* made, cublasComputeType_t compute,
                                        cudaDataType scale) {
    if (made == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    *made = new cublasLtMatmulDesc{{static_cast<uint64_t>(compute), static_cast<uint64_t>(scale)}};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t product) {
    delete product;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t product,
                                              cublasLtMatmulDescAttributes_t which, void* value, size_t bytes,
                                              size_t* written) {
    if (product == nullptr || value == nullptr || bytes != 4 || which > CUBLASLT_MATMUL_DESC_SCALE_TYPE)
        return CUBLAS_STATUS_INVALID_VALUE;
    std::memcpy(value, &product->words[which], bytes);
    if (written != nullptr) *written = bytes;
    return CUBLAS_STATUS_SUCCESS;
}
