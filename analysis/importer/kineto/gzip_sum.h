// The sum that gzip keeps of its contents (CRC-32), which zlib takes as long for as for unpacking: by the
// processor's multiplication without carries where there is one, else by zlib. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpushim::analysis {

// Goes on from `sum`; that of nothing is 0.
uint32_t gzip_sum(uint32_t sum, const unsigned char* bytes, size_t count);

}  // namespace gpushim::analysis
