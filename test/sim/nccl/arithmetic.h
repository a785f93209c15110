// What the ranks' contributions are turned into. Results are worked out in rank order and rounded once, so
// they do not depend on who comes when. Any thread.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace gpusim::nccl {

// 0 for what is no data type.
size_t type_bytes(ncclDataType_t type);
const char* type_word(ncclDataType_t type);

// into[i] = from[0][i] op from[1][i] op …; `op` is one of nccl.h's own five. `into` may be one of `from`.
void combine(ncclRedOp_t op, ncclDataType_t type, size_t count, std::span<const std::byte* const> from,
             std::byte* into);

// into[i] = scalar * from[i]; `scalar` is one value of `type`.
void scale(ncclDataType_t type, size_t count, const void* scalar, const void* from, void* into);

}  // namespace gpusim::nccl
