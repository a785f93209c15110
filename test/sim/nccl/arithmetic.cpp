#include "arithmetic.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

namespace gpusim::nccl {
namespace {

constexpr size_t kBlock = 1024;  // values worked out at a time, on the stack

// Integers wrap around as they do on a device; unsigned arithmetic is where C++ promises that.
template <class Wide>
Wide add(Wide a, Wide b) {
    if constexpr (std::is_floating_point_v<Wide>)
        return a + b;
    else
        return static_cast<Wide>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

template <class Wide>
Wide multiply(Wide a, Wide b) {
    if constexpr (std::is_floating_point_v<Wide>)
        return a * b;
    else
        return static_cast<Wide>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

// A NaN loses against a number, as on a device.
template <class Wide>
Wide larger(Wide a, Wide b) {
    return b > a || a != a ? b : a;
}

template <class Wide>
Wide smaller(Wide a, Wide b) {
    return b < a || a != a ? b : a;
}

template <class Wide>
using Step = Wide (*)(Wide, Wide);

template <class Wide>
Step<Wide> step_of(ncclRedOp_t op) {
    switch (op) {
        case ncclProd:
            return multiply<Wide>;
        case ncclMax:
            return larger<Wide>;
        case ncclMin:
            return smaller<Wide>;
        default:
            return add<Wide>;
    }
}

template <class Stored>
Stored value_at(const std::byte* from, size_t i) {
    Stored value;
    std::memcpy(static_cast<void*>(&value), from + i * sizeof value, sizeof value);
    return value;
}

template <class Stored>
void put(std::byte* into, size_t i, Stored value) {
    std::memcpy(into + i * sizeof value, static_cast<const void*>(&value), sizeof value);
}

template <class Stored, class Wide>
struct Typed {
    static void combine_block(ncclRedOp_t op, size_t first, size_t last,
                              std::span<const std::byte* const> from, std::byte* into) {
        std::array<Wide, kBlock> result;
        for (size_t i = first; i < last; ++i)
            result[i - first] = static_cast<Wide>(value_at<Stored>(from[0], i));
        for (const std::byte* next : from.subspan(1)) accumulate(op, first, last, next, result.data());
        for (size_t i = first; i < last; ++i) {
            const Wide value = result[i - first];
            const bool average = op == ncclAvg;
            put(into, i, Stored(average ? static_cast<Wide>(value / static_cast<Wide>(from.size())) : value));
        }
    }

    // One loop for each operation, so that the compiler can make it fast.
    static void accumulate(ncclRedOp_t op, size_t first, size_t last, const std::byte* next, Wide* result) {
        const auto each = [&](auto step) {
            for (size_t i = first; i < last; ++i)
                result[i - first] = step(result[i - first], static_cast<Wide>(value_at<Stored>(next, i)));
        };
        if (op == ncclSum || op == ncclAvg)
            each([](Wide a, Wide b) { return add(a, b); });
        else
            each(step_of<Wide>(op));
    }

    static void combine(ncclRedOp_t op, size_t count, std::span<const std::byte* const> from,
                        std::byte* into) {
        for (size_t first = 0; first < count; first += kBlock)
            combine_block(op, first, std::min(count, first + kBlock), from, into);
    }

    static void scale(size_t count, const std::byte* scalar, const std::byte* from, std::byte* into) {
        const auto factor = static_cast<Wide>(value_at<Stored>(scalar, 0));
        for (size_t i = 0; i < count; ++i)
            put(into, i, Stored(multiply(static_cast<Wide>(value_at<Stored>(from, i)), factor)));
    }
};

struct Type {
    size_t bytes;
    const char* word;
    void (*combine)(ncclRedOp_t, size_t, std::span<const std::byte* const>, std::byte*);
    void (*scale)(size_t, const std::byte*, const std::byte*, std::byte*);
};

constexpr Type kTypes[] = {
#define TYPE(name, stored, wide, word) \
    {sizeof(stored), word, Typed<stored, wide>::combine, Typed<stored, wide>::scale},
#include "types.def"
#undef TYPE
};

#define TYPE(name, stored, wide, word) +1
static_assert(ncclNumTypes == 0
#include "types.def"
);
#undef TYPE

}  // namespace

size_t type_bytes(ncclDataType_t type) { return type >= 0 && type < ncclNumTypes ? kTypes[type].bytes : 0; }

const char* type_word(ncclDataType_t type) { return kTypes[type].word; }

void combine(ncclRedOp_t op, ncclDataType_t type, size_t count, std::span<const std::byte* const> from,
             std::byte* into) {
    kTypes[type].combine(op, count, from, into);
}

void scale(ncclDataType_t type, size_t count, const void* scalar, const void* from, void* into) {
    kTypes[type].scale(count, static_cast<const std::byte*>(scalar), static_cast<const std::byte*>(from),
                       static_cast<std::byte*>(into));
}

}  // namespace gpusim::nccl
