// Where a text of JSON ends. Pure; any thread.
#pragma once

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <bit>
#include <cstdint>
#include <cstring>

namespace gpushim::analysis {

// The top bit of the first of eight bytes that is `c`, perhaps those of later ones; 0: none is.
inline uint64_t places_of(char c, uint64_t bytes) {
    constexpr uint64_t kOnes = 0x0101010101010101;
    const uint64_t differing = bytes ^ (kOnes * static_cast<unsigned char>(c));
    return (differing - kOnes) & ~differing & (kOnes << 7);
}

// The first of either, or the end. Most of a trace are texts.
inline const char* quote_or_backslash(const char* at, const char* end) {
    static_assert(std::endian::native == std::endian::little);
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\');
    for (; end - at >= 16; at += 16) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
        const int found =
            _mm_movemask_epi8(_mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash)));
        if (found != 0) return at + std::countr_zero(static_cast<unsigned>(found));
    }
#endif
    for (uint64_t bytes = 0; end - at >= 8; at += 8) {
        std::memcpy(&bytes, at, 8);
        const uint64_t found = places_of('"', bytes) | places_of('\\', bytes);
        if (found != 0) return at + std::countr_zero(found) / 8;
    }
    while (at < end && *at != '"' && *at != '\\') ++at;
    return at;
}

}  // namespace gpushim::analysis
