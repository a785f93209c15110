// What cuBLASLt's descriptions of matrices and of a product say, read off them without a call: five calls for
// each product would cost twice what recording it does. Where a library keeps what in a description is not
// documented, so it is asked once, by descriptions that we let it make: a place counts if all of them have
// there, and nowhere else, what they were made with. Any thread, after a product has succeeded.
//
//   made with   type, rows, columns, how many, stride        three times, all different
//   bytes       |.. type ..|.. rows ..|.. columns ..|…        64 of them: the published size is no less
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cublas_api.h"

namespace gpushim::shim {

// Where each value begins; kNowhere: not found, and then nothing is read.
constexpr size_t kDescriptionBytes = 64, kNowhere = kDescriptionBytes;
struct DescriptionPlaces {
    size_t type, batch, rows, columns, stride;
    size_t compute;  // of a product
};
enum DescriptionState : int { kNotAsked, kAsking, kFound, kNotFound };
extern constinit DescriptionPlaces description_places;
extern constinit std::atomic<int> description_state;

// Asks the library; who comes while another asks goes without.
[[gnu::cold]] bool ask_for_places();

inline bool can_read_layouts() {
    // Acquire: who sees that they were found sees where.
    const int state = description_state.load(std::memory_order_acquire);
    if (state == kFound) [[likely]]
        return true;
    return state == kNotAsked && ask_for_places();
}

// Of a description that the library has accepted, where can_read_layouts().
template <class T>
T described_value(const void* description, size_t place) {
    T value;
    std::memcpy(&value, static_cast<const unsigned char*>(description) + place, sizeof value);
    return value;
}
inline uint64_t rows_of(cublasLtMatrixLayout_t layout) {
    return described_value<uint64_t>(layout, description_places.rows);
}
inline uint64_t columns_of(cublasLtMatrixLayout_t layout) {
    return described_value<uint64_t>(layout, description_places.columns);
}
inline uint64_t stride_of(cublasLtMatrixLayout_t layout) {
    return described_value<uint64_t>(layout, description_places.stride);
}
inline uint64_t type_of(cublasLtMatrixLayout_t layout) {
    return described_value<uint32_t>(layout, description_places.type);
}
inline uint64_t batch_of(cublasLtMatrixLayout_t layout) {
    return described_value<uint32_t>(layout, description_places.batch);
}

// In descriptions of many sizes at once there are addresses in the place of sizes.
constexpr uint64_t kLargestSize = 1ull << 31;
inline bool has_size(cublasLtMatrixLayout_t layout) {
    return rows_of(layout) < kLargestSize && columns_of(layout) < kLargestSize;
}

}  // namespace gpushim::shim
