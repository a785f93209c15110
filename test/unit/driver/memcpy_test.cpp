// Each exported copy moves its bytes, all of them and no others.
#include "copy_forms.h"

namespace memcpy_test {

namespace {

constexpr size_t kGuard = 64;  // bytes behind a target that must stay as they are

CUdeviceptr memory(Where where, size_t bytes) {
    switch (where) {
        case Where::low:
            return low_memory(bytes);
        case Where::host:
            return pageable_memory(bytes);
        default:
            return device_memory(bytes);
    }
}

// An end that can be looked at: an array is written and read through its first rows' storage by 2D copies.
End make_end(Where where, const Bytes& content) {
    End end;
    if (where != Where::array) {
        end.address = memory(where, content.size());
        put_at(end.address, content);
        return end;
    }
    end.array = array_memory(content.size() + kArrayOffset);
    CUDA_MEMCPY2D in{};
    in.srcMemoryType = CU_MEMORYTYPE_HOST, in.srcHost = content.data();
    in.dstMemoryType = CU_MEMORYTYPE_ARRAY, in.dstArray = end.array, in.dstXInBytes = kArrayOffset;
    in.WidthInBytes = content.size(), in.Height = 1;
    CU(cuMemcpy2D_v2(&in));
    return end;
}

Bytes content_of(const End& end, size_t bytes) {
    if (end.array == nullptr) return bytes_at(end.address, bytes);
    Bytes result(bytes);
    CUDA_MEMCPY2D out{};
    out.srcMemoryType = CU_MEMORYTYPE_ARRAY, out.srcArray = end.array, out.srcXInBytes = kArrayOffset;
    out.dstMemoryType = CU_MEMORYTYPE_HOST, out.dstHost = result.data();
    out.WidthInBytes = bytes, out.Height = 1;
    CU(cuMemcpy2D_v2(&out));
    return result;
}

void check_bytes(const CopyCall& form, size_t bytes) {
    INFO(form.name << ", " << bytes << " bytes");
    const Bytes source = pattern(bytes, 1), before = pattern(bytes + kGuard, 77);
    const End from = make_end(form.from, source), to = make_end(form.to, before);
    CUstream stream = make_stream();
    CU(form.call(to, from, bytes, stream));
    CU(cuCtxSynchronize());
    Bytes expected = before;
    std::copy(source.begin(), source.end(), expected.begin());
    CHECK(content_of(to, bytes + kGuard) == expected);
}

}  // namespace

TEST_CASE("every copy of a row moves its bytes and no others", "[memcpy]") {
    make_context();
    for (const CopyCall& form : copy_calls())
        for (const unsigned bytes : {1u, 1000u, 65536u, 65537u, 300000u}) check_bytes(form, bytes);
}

TEST_CASE("a copy of no bytes succeeds, and one from or to nowhere does not", "[memcpy]") {
    make_context();
    const End from{device_memory(64), array_memory(64)}, to{device_memory(64), array_memory(64)};
    for (const CopyCall& form : copy_calls()) {
        INFO(form.name);
        if (form.narrow()) continue;
        CHECK(form.call(to, from, 0, nullptr) == CUDA_SUCCESS);
        CHECK(form.call(End{}, from, 8, nullptr) == CUDA_ERROR_INVALID_VALUE);
        CHECK(form.call(to, End{}, 8, nullptr) == CUDA_ERROR_INVALID_VALUE);
    }
}

TEST_CASE("a copy beyond its allocation is refused", "[memcpy]") {
    make_context();
    const CUdeviceptr device = device_memory(100), other = device_memory(4096);
    Bytes host(200);
    CU(cuMemcpyHtoD_v2(device, host.data(), 100));
    CU_IS(cuMemcpyHtoD_v2(device, host.data(), 101), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuMemcpyHtoD_v2(device + 1, host.data(), 100), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuMemcpyDtoH_v2(host.data(), device + 50, 51), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuMemcpyDtoD_v2(other, device, 101), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuMemcpyDtoD_v2(device, other, 101), CUDA_ERROR_INVALID_VALUE);
    CU(cuMemFree_v2(device));
    CU_IS(cuMemcpyHtoD_v2(device, host.data(), 1), CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("the device forms do not take pageable memory, the unified forms do", "[memcpy]") {
    make_context();
    const CUdeviceptr device = device_memory(64), pageable = pageable_memory(64);
    CU_IS(cuMemcpyDtoD_v2(device, pageable, 64), CUDA_ERROR_INVALID_VALUE);
    CU(cuMemcpy(device, pageable, 64));
}

TEST_CASE("copies without a context or on a wrong stream", "[memcpy]") {
    CU(cuInit(0));
    char byte = 0;
    CU_IS(cuMemcpy(reinterpret_cast<CUdeviceptr>(&byte), reinterpret_cast<CUdeviceptr>(&byte), 1),
          CUDA_ERROR_INVALID_CONTEXT);
    make_context();
    const CUdeviceptr device = device_memory(64);
    CU_IS(cuMemcpyAsync(device, device, 1, reinterpret_cast<CUstream>(&byte)), CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("copies in a stream keep their order, with bytes that arrive in between", "[memcpy]") {
    make_context();
    constexpr size_t kBytes = 4 << 20;
    const CUdeviceptr a = pinned_memory(kBytes), b = device_memory(kBytes), c = pinned_memory(kBytes);
    CUstream stream = make_stream();
    for (unsigned round = 0; round < 20; ++round) {
        put_at(a, pattern(kBytes, round));
        CU(cuMemcpyAsync(b, a, kBytes, stream));
        CU(cuMemcpyAsync(c, b, kBytes, stream));
        CU(cuStreamSynchronize(stream));
        REQUIRE(bytes_at(c, kBytes) == pattern(kBytes, round));
    }
}

}  // namespace memcpy_test
