// Tensor maps: 128 opaque bytes that a program makes on the host and hands to kernels. No kernel of the box
// reads them, so they are checked for the obvious and filled with the address they were made for.
#include <cstring>

#include "entry.h"

namespace {

CUresult fill(CUtensorMap* map, const void* address, cuuint32_t rank) {
    if (map == nullptr || address == nullptr || rank == 0 || rank > 5) return CUDA_ERROR_INVALID_VALUE;
    std::memset(map, 0, sizeof *map);
    std::memcpy(map, &address, sizeof address);
    return CUDA_SUCCESS;
}

}  // namespace

API(cuTensorMapEncodeTiled)
(CUtensorMap* map, CUtensorMapDataType, cuuint32_t rank, void* address, const cuuint64_t*, const cuuint64_t*,
 const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
 CUtensorMapFloatOOBfill) {
    return fill(map, address, rank);
}
API(cuTensorMapReplaceAddress)(CUtensorMap* map, void* address) { return fill(map, address, 1); }
