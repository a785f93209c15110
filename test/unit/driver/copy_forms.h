// Every exported copy between two addresses, or an address and an array, as a row of one table: what the
// cases about bytes and about blocking go through.
#pragma once

#include <algorithm>
#include <memory>

#include "core.h"

enum class Where { host, device, low, array, any };  // low: device memory below 4 GiB; any: the unified forms

struct End {
    CUdeviceptr address = 0;
    CUarray array = nullptr;
    void* host() const { return reinterpret_cast<void*>(address); }
    CUdeviceptr_v1 low() const { return static_cast<CUdeviceptr_v1>(address); }
};

struct CopyCall {
    const char* name;
    Where from, to;
    bool asynchronous;
    CUresult (*call)(const End& to, const End& from, size_t bytes, CUstream stream);
    bool narrow() const { return from == Where::low || to == Where::low; }
};

inline CUcontext here() {
    CUcontext context = nullptr;
    CU(cuCtxGetCurrent(&context));
    return context;
}

// An array's offset of the calls below: where they begin in it.
constexpr size_t kArrayOffset = 16;

#define NOW(name, from, to, ...)                                                             \
    CopyCall {                                                                               \
#name, Where::from, Where::to, false,                                                      \
            [](const End& t, const End& f, size_t n, CUstream) {                                   \
                (void)t, (void)f;                                                                  \
                return name(__VA_ARGS__);                                                          \
            } \
    }
#define ASYNC(name, from, to, ...)                                                                \
    CopyCall {                                                                                    \
#name, Where::from, Where::to, true,                                                      \
            [](const End& t, const End& f, size_t n, CUstream s) { return name(__VA_ARGS__, s); } \
    }
#define NOW_TWICE(name, from, to, ...) \
    NOW(name, from, to, __VA_ARGS__), NOW(name##_ptds, from, to, __VA_ARGS__)
#define ASYNC_TWICE(name, from, to, ...) \
    ASYNC(name, from, to, __VA_ARGS__), ASYNC(name##_ptsz, from, to, __VA_ARGS__)

inline const std::vector<CopyCall>& copy_calls() {
    constexpr size_t o = kArrayOffset;
    constexpr unsigned o1 = kArrayOffset;
    static const std::vector<CopyCall> calls = {
        NOW_TWICE(cuMemcpy, any, any, t.address, f.address, n),
        ASYNC_TWICE(cuMemcpyAsync, any, any, t.address, f.address, n),
        NOW_TWICE(cuMemcpyHtoD_v2, host, device, t.address, f.host(), n),
        NOW(cuMemcpyHtoD, host, low, t.low(), f.host(), static_cast<unsigned>(n)),
        ASYNC_TWICE(cuMemcpyHtoDAsync_v2, host, device, t.address, f.host(), n),
        ASYNC(cuMemcpyHtoDAsync, host, low, t.low(), f.host(), static_cast<unsigned>(n)),
        NOW_TWICE(cuMemcpyDtoH_v2, device, host, t.host(), f.address, n),
        NOW(cuMemcpyDtoH, low, host, t.host(), f.low(), static_cast<unsigned>(n)),
        ASYNC_TWICE(cuMemcpyDtoHAsync_v2, device, host, t.host(), f.address, n),
        ASYNC(cuMemcpyDtoHAsync, low, host, t.host(), f.low(), static_cast<unsigned>(n)),
        NOW_TWICE(cuMemcpyDtoD_v2, device, device, t.address, f.address, n),
        NOW(cuMemcpyDtoD, low, low, t.low(), f.low(), static_cast<unsigned>(n)),
        ASYNC_TWICE(cuMemcpyDtoDAsync_v2, device, device, t.address, f.address, n),
        ASYNC(cuMemcpyDtoDAsync, low, low, t.low(), f.low(), static_cast<unsigned>(n)),
        NOW_TWICE(cuMemcpyPeer, device, device, t.address, here(), f.address, here(), n),
        ASYNC_TWICE(cuMemcpyPeerAsync, device, device, t.address, here(), f.address, here(), n),
        NOW_TWICE(cuMemcpyDtoA_v2, device, array, t.array, o, f.address, n),
        NOW(cuMemcpyDtoA, low, array, t.array, o1, f.low(), static_cast<unsigned>(n)),
        NOW_TWICE(cuMemcpyAtoD_v2, array, device, t.address, f.array, o, n),
        NOW(cuMemcpyAtoD, array, low, t.low(), f.array, o1, static_cast<unsigned>(n)),
        NOW_TWICE(cuMemcpyHtoA_v2, host, array, t.array, o, f.host(), n),
        NOW(cuMemcpyHtoA, host, array, t.array, o1, f.host(), static_cast<unsigned>(n)),
        ASYNC_TWICE(cuMemcpyHtoAAsync_v2, host, array, t.array, o, f.host(), n),
        ASYNC(cuMemcpyHtoAAsync, host, array, t.array, o1, f.host(), static_cast<unsigned>(n)),
        NOW_TWICE(cuMemcpyAtoH_v2, array, host, t.host(), f.array, o, n),
        NOW(cuMemcpyAtoH, array, host, t.host(), f.array, o1, static_cast<unsigned>(n)),
        ASYNC_TWICE(cuMemcpyAtoHAsync_v2, array, host, t.host(), f.array, o, n),
        ASYNC(cuMemcpyAtoHAsync, array, host, t.host(), f.array, o1, static_cast<unsigned>(n)),
        NOW_TWICE(cuMemcpyAtoA_v2, array, array, t.array, o, f.array, o, n),
        NOW(cuMemcpyAtoA, array, array, t.array, o1, f.array, o1, static_cast<unsigned>(n)),
    };
    return calls;
}

#undef NOW
#undef ASYNC
#undef NOW_TWICE
#undef ASYNC_TWICE

// Memory of one case. Device memory of the box can be read and written by the test itself.
inline CUdeviceptr device_memory(size_t bytes) {
    CUdeviceptr address = 0;
    CU(cuMemAlloc_v2(&address, bytes));
    return address;
}

inline CUdeviceptr low_memory(size_t bytes) {
    CUdeviceptr_v1 address = 0;
    CU(cuMemAlloc(&address, static_cast<unsigned>(bytes)));
    return address;
}

inline CUdeviceptr pinned_memory(size_t bytes) {
    void* address = nullptr;
    CU(cuMemHostAlloc(&address, bytes, 0));
    return reinterpret_cast<CUdeviceptr>(address);
}

inline CUdeviceptr pageable_memory(size_t bytes) {
    static std::vector<std::unique_ptr<unsigned char[]>> all;  // each as long as its case
    all.push_back(std::make_unique<unsigned char[]>(bytes));
    return reinterpret_cast<CUdeviceptr>(all.back().get());
}

inline CUarray array_memory(size_t width, size_t height = 0) {
    CUarray array = nullptr;
    const CUDA_ARRAY_DESCRIPTOR descriptor{width, height, CU_AD_FORMAT_UNSIGNED_INT8, 1};
    CU(cuArrayCreate_v2(&array, &descriptor));
    return array;
}

// A failed comparison tells how many there are and the first of them, not all.
struct Bytes : std::vector<unsigned char> {
    using vector::vector;
};

template <>
struct Catch::StringMaker<Bytes> {
    static std::string convert(const Bytes& bytes) {
        std::string text = std::to_string(bytes.size()) + " bytes:";
        for (size_t i = 0; i < std::min<size_t>(bytes.size(), 16); ++i)
            text += " " + std::to_string(bytes[i]);
        return text;
    }
};

inline Bytes pattern(size_t bytes, unsigned seed) {
    Bytes made(bytes);
    for (size_t i = 0; i < bytes; ++i)
        made[i] = static_cast<unsigned char>((i * 131 + (i >> 8) * 17 + seed) & 0xff);
    return made;
}

inline Bytes bytes_at(CUdeviceptr address, size_t bytes) {
    const auto* first = reinterpret_cast<const unsigned char*>(address);
    return {first, first + bytes};
}

inline void put_at(CUdeviceptr address, const Bytes& bytes) {
    std::copy(bytes.begin(), bytes.end(), reinterpret_cast<unsigned char*>(address));
}
