#include "gzip_sum.h"

#include <zlib.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace gpushim::analysis {

namespace {

uint32_t by_zlib(uint32_t sum, const unsigned char* bytes, size_t count) {
    return static_cast<uint32_t>(crc32_z(sum, bytes, count));
}

#ifdef __x86_64__

// Bytes are a polynomial over GF(2), whose remainder by that of CRC-32 is wanted. What stands n bits ahead
// may be multiplied by the remainder of x^n and added n bits later: so four blocks are carried forward until
// they are one. Constants and the last steps are those of V. Gopal and others, "Fast CRC Computation for
// Generic Polynomials Using PCLMULQDQ Instruction" (Intel, 2009), for bits in reversed order.
#define BY_MULTIPLICATION __attribute__((target("pclmul,sse4.1"))) inline

constexpr size_t kSumBlock = 16, kSumBlocks = 4;
struct Factors {
    int64_t low, high;
};
constexpr Factors kOverFour = {0x154442bd4, 0x1c6e41596}, kOverOne = {0x1751997d0, 0x0ccaa009e};
constexpr Factors kTo64 = {0x163cd6124, 0}, kPolynomial = {0x1db710641, 0x1f7011641};

BY_MULTIPLICATION __m128i both(const Factors& factors) { return _mm_set_epi64x(factors.high, factors.low); }
BY_MULTIPLICATION __m128i block(const unsigned char* bytes) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
}
BY_MULTIPLICATION __m128i carried(__m128i sum, __m128i by, __m128i onto) {
    const __m128i low = _mm_clmulepi64_si128(sum, by, 0x00), high = _mm_clmulepi64_si128(sum, by, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), onto);
}

BY_MULTIPLICATION uint32_t remainder(__m128i sum) {
    const __m128i low_halves = _mm_setr_epi32(-1, 0, -1, 0);
    sum = _mm_xor_si128(_mm_srli_si128(sum, 8), _mm_clmulepi64_si128(sum, both(kOverOne), 0x10));
    sum = _mm_xor_si128(_mm_srli_si128(sum, 4),
                        _mm_clmulepi64_si128(_mm_and_si128(sum, low_halves), both(kTo64), 0x00));
    __m128i times = _mm_clmulepi64_si128(_mm_and_si128(sum, low_halves), both(kPolynomial), 0x10);
    times = _mm_clmulepi64_si128(_mm_and_si128(times, low_halves), both(kPolynomial), 0x00);
    return static_cast<uint32_t>(_mm_extract_epi32(_mm_xor_si128(sum, times), 1));
}

// Of whole blocks, four at least.
BY_MULTIPLICATION uint32_t by_multiplication(uint32_t sum, const unsigned char* bytes, size_t count) {
    const unsigned char* const end = bytes + count;
    __m128i sums[kSumBlocks];
    for (__m128i& one : sums) one = block(bytes), bytes += kSumBlock;
    sums[0] = _mm_xor_si128(sums[0], _mm_cvtsi32_si128(static_cast<int>(~sum)));
    while (end - bytes >= static_cast<ptrdiff_t>(kSumBlocks * kSumBlock))
        for (__m128i& one : sums) one = carried(one, both(kOverFour), block(bytes)), bytes += kSumBlock;
    __m128i all = sums[0];
    for (size_t i = 1; i < kSumBlocks; ++i) all = carried(all, both(kOverOne), sums[i]);
    for (; bytes < end; bytes += kSumBlock) all = carried(all, both(kOverOne), block(bytes));
    return ~remainder(all);
}

// The same with blocks of twice the size, where the processor has them: most of a sum, in half of the time.
#define BY_WIDE_MULTIPLICATION __attribute__((target("vpclmulqdq,avx2,pclmul,sse4.1"))) inline

constexpr size_t kWideBlock = 32, kWideBlocks = 4;
constexpr Factors kOverFourWide = {0x1e88ef372, 0x14a7fe880};

BY_WIDE_MULTIPLICATION __m256i wide_block(const unsigned char* bytes) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes));
}

// Of a multiple of four blocks.
BY_WIDE_MULTIPLICATION uint32_t by_wide_multiplication(uint32_t sum, const unsigned char* bytes,
                                                       size_t count) {
    const unsigned char* const end = bytes + count;
    const __m256i by = _mm256_broadcastsi128_si256(both(kOverFourWide));
    __m256i sums[kWideBlocks];
    for (__m256i& one : sums) one = wide_block(bytes), bytes += kWideBlock;
    sums[0] = _mm256_xor_si256(sums[0], _mm256_setr_epi32(static_cast<int>(~sum), 0, 0, 0, 0, 0, 0, 0));
    while (bytes < end)
        for (__m256i& one : sums) {
            const __m256i low = _mm256_clmulepi64_epi128(one, by, 0x00);
            const __m256i high = _mm256_clmulepi64_epi128(one, by, 0x11);
            one = _mm256_xor_si256(_mm256_xor_si256(low, high), wide_block(bytes));
            bytes += kWideBlock;
        }
    unsigned char rest[kWideBlocks * kWideBlock];  // whose sum, from none on, is that of all
    for (size_t i = 0; i < kWideBlocks; ++i)
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(rest + i * kWideBlock), sums[i]);
    return by_multiplication(~uint32_t{0}, rest, sizeof rest);
}

bool can_multiply() {
    static const bool can = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
    return can;
}

bool can_multiply_wide() {
    static const bool can =
        can_multiply() && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("vpclmulqdq");
    return can;
}

#endif

}  // namespace

uint32_t gzip_sum(uint32_t sum, const unsigned char* bytes, size_t count) {
#ifdef __x86_64__
    constexpr size_t kWide = kWideBlocks * kWideBlock;
    if (count >= kWide && can_multiply_wide()) {
        const size_t most = count - count % kWide;
        sum = by_wide_multiplication(sum, bytes, most);
        bytes += most;
        count -= most;
    }
    const size_t whole = count - count % kSumBlock;
    if (whole >= kSumBlocks * kSumBlock && can_multiply()) {
        sum = by_multiplication(sum, bytes, whole);
        bytes += whole;
        count -= whole;
    }
#endif
    return by_zlib(sum, bytes, count);
}

}  // namespace gpushim::analysis
