// What descriptions of matrices and products hold here. The order is the box's own, and another
// with each value of GPUSIM_CUBLASLT_ORDER: who reads them has to find out. As long as the real ones.
#pragma once

#include "api.h"

struct cublasLtMatrixLayout {
    uint64_t words[8];
};
struct cublasLtMatmulDesc {
    uint64_t words[32];
};

namespace gpusim::cublaslt {

// The word that holds it.
enum class Word : size_t { type, rows, columns, leading, batch, stride };

uint64_t& word_of(cublasLtMatrixLayout& layout, Word word);
inline uint64_t value_of(const cublasLtMatrixLayout& layout, Word word) {
    return word_of(const_cast<cublasLtMatrixLayout&>(layout), word);
}

}  // namespace gpusim::cublaslt
