// Words (words.h) of cuBLAS's and cuBLASLt's calls: the last word of a matrix product, and of cuBLASLt's what
// its descriptions of matrices say.
#pragma once

#include <library_types.h>

#include "../calls/cublas_api.h"
#include "../calls/matrix_layout.h"
#include "words.h"

namespace gpushim::shim::words {

// A batch of one shares nothing. A stride of 0: all have one matrix; each of an address of its own may too.
struct not_told {};
template <class Stride, class A>
inline Sharing sharing_of(const A& arguments, uint64_t batch) {
    if (batch == 1) return Sharing::none;
    if constexpr (std::is_same_v<Stride, not_told>)
        return Sharing::not_told;
    else
        return Stride::take(arguments, true) == 0 ? Sharing::one : Sharing::none;
}

template <class AType, class BType, class CType, class Compute, class Batch = constant<1>,
          class AStride = constant<1>, class BStride = constant<1>>
struct product_how {
    template <class A>
    static uint64_t take(const A& arguments, bool succeeded) {
        if (!succeeded) return 0;
        const uint64_t batch = Batch::take(arguments, true) & 0xffffffff;
        return product_word({.batch = batch,
                             .a_type = AType::take(arguments, true),
                             .b_type = BType::take(arguments, true),
                             .c_type = CType::take(arguments, true),
                             .compute = Compute::take(arguments, true),
                             .a_sharing = sharing_of<AStride>(arguments, batch),
                             .b_sharing = sharing_of<BStride>(arguments, batch)});
    }
};

// All of one type. The arithmetic depends on a mode that is set elsewhere.
template <uint64_t Type, class Batch = constant<1>, class AStride = constant<1>, class BStride = constant<1>>
using alike = product_how<constant<Type>, constant<Type>, constant<Type>, constant<kComputeNotTold>, Batch,
                          AStride, BStride>;
template <uint64_t Type>
using alone = alike<Type>;
template <uint64_t Type, size_t Batch>
using listed = alike<Type, arg<Batch>, not_told, not_told>;
template <uint64_t Type, size_t Batch, size_t AStride, size_t BStride>
using strided = alike<Type, arg<Batch>, arg<AStride>, arg<BStride>>;

// By cuBLASLt's descriptions: D has m rows and n columns; A has m times k values, whether it is transposed or
// not.
template <size_t D>
struct layout_m {
    template <class A>
    static uint64_t take(const A& arguments, bool succeeded) {
        return succeeded && can_read_layouts() ? rows_of(std::get<D>(arguments)) : kSizeNotTold;
    }
};

template <size_t D>
struct layout_n {
    template <class A>
    static uint64_t take(const A& arguments, bool succeeded) {
        return succeeded && can_read_layouts() ? columns_of(std::get<D>(arguments)) : kSizeNotTold;
    }
};

template <size_t AT, size_t D>
struct layout_k {
    template <class A>
    static uint64_t take(const A& arguments, bool succeeded) {
        const uint64_t m = layout_m<D>::take(arguments, succeeded);
        const auto a = std::get<AT>(arguments);
        if (m == 0 || m == kSizeNotTold) return m;
        return rows_of(a) == m      ? columns_of(a)
               : columns_of(a) == m ? rows_of(a)
                                    : rows_of(a) * columns_of(a) / m;
    }
};

template <size_t Descriptor, size_t AT, size_t BT, size_t D>
struct layout_how {
    template <class A>
    static uint64_t take(const A& arguments, bool succeeded) {
        const auto a = std::get<AT>(arguments), b = std::get<BT>(arguments), d = std::get<D>(arguments);
        if (!succeeded || !can_read_layouts() || !has_size(a) || !has_size(d)) return 0;
        const uint64_t batch = batch_of(d), computes_at = description_places.compute;
        const auto sharing = [batch](cublasLtMatrixLayout_t of) {
            return batch > 1 && stride_of(of) == 0 ? Sharing::one : Sharing::none;
        };
        const uint64_t compute =
            computes_at == kNowhere ? kComputeNotTold
                                    : described_value<uint32_t>(std::get<Descriptor>(arguments), computes_at);
        return product_word({.batch = batch,
                             .a_type = type_of(a),
                             .b_type = type_of(b),
                             .c_type = type_of(d),
                             .compute = compute,
                             .a_sharing = sharing(a),
                             .b_sharing = sharing(b)});
    }
};

}  // namespace gpushim::shim::words
