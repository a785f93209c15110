// Sizes of collectives in few classes, powers of 16, so that series are bounded: the library's and the
// analyzer's metrics have the same ones. Pure.
#pragma once

#include <cstdint>
#include <string>

namespace gpushim {

inline constexpr uint64_t kSmallestClass = 4096, kLargestClass = uint64_t{1} << 32;

// The largest size that counts there: 4096, 65536, … 2^32; 0: it is larger.
constexpr uint64_t size_class(uint64_t bytes) {
    for (uint64_t size = kSmallestClass; size <= kLargestClass; size *= 16)
        if (bytes <= size) return size;
    return 0;
}

// As the label `size` has it.
inline std::string size_label(uint64_t of_class) {
    return of_class == 0 ? "larger" : std::to_string(of_class);
}

}  // namespace gpushim
