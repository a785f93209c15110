// Memsets: every form's bytes against a plain loop, checks, and when they return.
#include "copy_forms.h"

namespace memset_test {

namespace {

struct Set {
    const char* name;
    size_t element_bytes;
    bool rows, narrow, asynchronous;
    CUresult (*call)(CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height,
                     CUstream stream);
};

#define CALL(name, element, rows, narrow, asynchronous, ...)                                   \
    Set {                                                                                      \
#name, element, rows, narrow, asynchronous,                                                  \
            [](CUdeviceptr to, size_t pitch, unsigned value, size_t w, size_t h, CUstream stream) {  \
                (void)pitch, (void)h, (void)stream;                                                  \
                const auto v = static_cast<Value<element>>(value);                                   \
                return name(__VA_ARGS__);                                                            \
            } \
    }
#define N(x) static_cast<unsigned>(x)
#define ALL_OF(bits, element)                                                                   \
    CALL(cuMemsetD##bits##_v2, element, false, false, false, to, v, w),                         \
        CALL(cuMemsetD##bits##_v2_ptds, element, false, false, false, to, v, w),                \
        CALL(cuMemsetD##bits, element, false, true, false, N(to), v, N(w)),                     \
        CALL(cuMemsetD##bits##Async, element, false, false, true, to, v, w, stream),            \
        CALL(cuMemsetD##bits##Async_ptsz, element, false, false, true, to, v, w, stream),       \
        CALL(cuMemsetD2D##bits##_v2, element, true, false, false, to, pitch, v, w, h),          \
        CALL(cuMemsetD2D##bits##_v2_ptds, element, true, false, false, to, pitch, v, w, h),     \
        CALL(cuMemsetD2D##bits, element, true, true, false, N(to), N(pitch), v, N(w), N(h)),    \
        CALL(cuMemsetD2D##bits##Async, element, true, false, true, to, pitch, v, w, h, stream), \
        CALL(cuMemsetD2D##bits##Async_ptsz, element, true, false, true, to, pitch, v, w, h, stream)

template <size_t element_bytes>
using Value = std::conditional_t<element_bytes == 1, unsigned char,
                                 std::conditional_t<element_bytes == 2, unsigned short, unsigned>>;

const std::vector<Set>& all_sets() {
    static const std::vector<Set> sets = {ALL_OF(8, 1), ALL_OF(16, 2), ALL_OF(32, 4)};
    return sets;
}

constexpr unsigned kValue = 0xa1b2c3d4;
constexpr size_t kPitch = 128, kWidth = 13, kHeight = 5, kBytes = kPitch * 7;

Bytes expected(const Set& set, size_t offset, Bytes before) {
    for (size_t y = 0; y < (set.rows ? kHeight : 1); ++y)
        for (size_t i = 0; i < kWidth * set.element_bytes; ++i)
            before[offset + y * kPitch + i] =
                static_cast<unsigned char>(kValue >> (8 * (i % set.element_bytes)));
    return before;
}

}  // namespace

TEST_CASE("every memset fills its elements and nothing beside them", "[memset]") {
    make_context();
    CUstream stream = make_stream();
    REQUIRE(all_sets().size() == 30);
    for (const Set& set : all_sets()) {
        INFO(set.name);
        const CUdeviceptr memory = set.narrow ? low_memory(kBytes) : device_memory(kBytes);
        const size_t offset = 3 * set.element_bytes;
        put_at(memory, pattern(kBytes, 9));
        CU(set.call(memory + offset, kPitch, kValue, kWidth, kHeight, stream));
        CU(cuCtxSynchronize());
        CHECK(bytes_at(memory, kBytes) == expected(set, offset, pattern(kBytes, 9)));
    }
}

TEST_CASE("memsets are refused where they do not fit", "[memset]") {
    make_context();
    const CUdeviceptr memory = device_memory(1000), low = low_memory(1000);
    for (const Set& set : all_sets()) {
        INFO(set.name);
        const CUdeviceptr to = set.narrow ? low : memory;
        const size_t size = set.element_bytes, most = set.rows ? 100 : 1000 / size;
        const size_t pitch = 200, rows = 5;
        CHECK(set.call(to, pitch, 0, 0, 0, nullptr) == CUDA_SUCCESS);
        CHECK(set.call(to, pitch, 0, most / size, rows, nullptr) == CUDA_SUCCESS);
        CHECK(set.call(0, pitch, 0, 1, 1, nullptr) == CUDA_ERROR_INVALID_VALUE);
        CHECK(set.call(to + 1000, pitch, 0, 1, 1, nullptr) == CUDA_ERROR_INVALID_VALUE);
        CHECK(set.call(to, pitch, 0, 1000 / size + 1, 1, nullptr) == CUDA_ERROR_INVALID_VALUE);
        if (size > 1) CHECK(set.call(to + 1, pitch, 0, 1, 1, nullptr) == CUDA_ERROR_INVALID_VALUE);
        if (!set.narrow)
            CHECK(set.call(to, pitch, 0, SIZE_MAX / size + (size > 1 ? 1 : 0), 2, nullptr) ==
                  CUDA_ERROR_INVALID_VALUE);
        if (!set.rows) continue;
        if (!set.narrow) CHECK(set.call(to, size_t{1} << 62, 0, 1, 5, nullptr) == CUDA_ERROR_INVALID_VALUE);
        CHECK(set.call(to, pitch, 0, pitch / size, rows + 1, nullptr) == CUDA_ERROR_INVALID_VALUE);
        CHECK(set.call(to, pitch, 0, pitch / size + 1, 2, nullptr) == CUDA_ERROR_INVALID_VALUE);
        if (size > 1) CHECK(set.call(to, pitch + 1, 0, 1, 2, nullptr) == CUDA_ERROR_INVALID_VALUE);
    }
}

TEST_CASE("memsets return at once, but of host or managed memory only when over", "[memset]") {
    Timeline timeline;
    make_context();
    const CUfunction busy = kernel("busy__100us");
    CUdeviceptr managed = 0;
    CU(cuMemAllocManaged(&managed, kBytes, CU_MEM_ATTACH_GLOBAL));
    const CUdeviceptr device = device_memory(kBytes), pinned = pinned_memory(kBytes);
    for (const Set& set : all_sets()) {
        if (set.narrow) continue;
        const bool per_thread = std::string(set.name).find("_ptds") != std::string::npos;
        for (const CUdeviceptr to : {device, pinned, managed}) {
            INFO(set.name << " of " << (to == device ? "device" : to == pinned ? "pinned" : "managed"));
            const CUstream stream = per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
            timeline.start();
            CU(launch(busy, stream));
            CU(set.call(to, kPitch, kValue, kWidth, kHeight, stream));
            const bool waited = timeline.now() >= 105'000;
            CU(cuCtxSynchronize());
            CHECK(waited == (!set.asynchronous && to != device));
            CHECK(timeline.all().back().op == "memset");
            CHECK(timeline.all().back().start_ns == 105'000);
        }
    }
}

TEST_CASE("a memset lasts as long as its bytes take", "[memset]") {
    Timeline timeline("GPUSIM_D2D_GBS=10");
    make_context();
    const CUdeviceptr device = device_memory(1'000'000);
    CU(cuMemsetD32_v2(device, 1, 250'000));
    CU(cuCtxSynchronize());
    const Truth set = timeline.all().back();
    CHECK(set.bytes == 1'000'000);
    CHECK(set.end_ns - set.start_ns == 100'000);
}

}  // namespace memset_test
