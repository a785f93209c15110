// Copies of rows and planes: bytes against plain loops, and the checks on what is described.
#include "copy_forms.h"

namespace memcpy_rows_test {

namespace {

// A box of bytes within two larger ones.
struct Layout {
    size_t x, y, z, pitch, height;
    size_t offset(size_t row, size_t plane) const { return ((z + plane) * height + y + row) * pitch + x; }
};
constexpr Layout kFrom{3, 1, 2, 40, 7}, kTo{5, 2, 1, 64, 9};
constexpr size_t kWidth = 21, kHeight = 4, kDepth = 3;
constexpr size_t kFromBytes = 40 * 7 * 5, kToBytes = 64 * 9 * 4;

Bytes expected(const Bytes& from, Bytes to, size_t depth) {
    Layout source = kFrom, target = kTo;
    if (depth == 1) source.z = target.z = 0;
    for (size_t z = 0; z < depth; ++z)
        for (size_t y = 0; y < kHeight; ++y)
            std::copy_n(from.begin() + static_cast<long>(source.offset(y, z)), kWidth,
                        to.begin() + static_cast<long>(target.offset(y, z)));
    return to;
}

// The description in any of the five structures.
template <class Shape>
Shape describe(CUdeviceptr to, CUmemorytype to_type, CUdeviceptr from, CUmemorytype from_type) {
    using Number = decltype(Shape::WidthInBytes);
    Shape s{};
    const auto n = [](size_t number) { return static_cast<Number>(number); };
    s.srcMemoryType = from_type, s.dstMemoryType = to_type;
    s.srcHost = reinterpret_cast<void*>(from), s.dstHost = reinterpret_cast<void*>(to);
    s.srcDevice = static_cast<decltype(s.srcDevice)>(from),
    s.dstDevice = static_cast<decltype(s.dstDevice)>(to);
    s.srcXInBytes = n(kFrom.x), s.srcY = n(kFrom.y), s.srcPitch = n(kFrom.pitch);
    s.dstXInBytes = n(kTo.x), s.dstY = n(kTo.y), s.dstPitch = n(kTo.pitch);
    s.WidthInBytes = n(kWidth), s.Height = n(kHeight);
    if constexpr (requires { s.Depth; }) {
        s.srcZ = n(kFrom.z), s.srcHeight = n(kFrom.height);
        s.dstZ = n(kTo.z), s.dstHeight = n(kTo.height);
        s.Depth = n(kDepth);
    }
    if constexpr (requires { s.srcContext; }) s.srcContext = s.dstContext = here();
    return s;
}

template <class Shape>
constexpr size_t depth_of() {
    if constexpr (requires { Shape::Depth; }) return kDepth;
    return 1;
}

template <class Shape>
constexpr bool is_narrow() {
    return sizeof(Shape::WidthInBytes) == 4;
}

CUdeviceptr memory(CUmemorytype type, bool narrow, size_t bytes) {
    if (type == CU_MEMORYTYPE_HOST) return pageable_memory(bytes);
    return narrow ? low_memory(bytes) : device_memory(bytes);
}

template <class Shape, class Call>
void check(const char* name, Call call) {
    for (const CUmemorytype to_type : {CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_UNIFIED})
        for (const CUmemorytype from_type :
             {CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_UNIFIED}) {
            INFO(name << " from " << from_type << " to " << to_type);
            const CUdeviceptr from = memory(from_type, is_narrow<Shape>(), kFromBytes);
            const CUdeviceptr to = memory(to_type, is_narrow<Shape>(), kToBytes);
            put_at(from, pattern(kFromBytes, 5)), put_at(to, pattern(kToBytes, 99));
            const Shape shape = describe<Shape>(to, to_type, from, from_type);
            CU(call(&shape));
            CU(cuCtxSynchronize());
            CHECK(bytes_at(to, kToBytes) ==
                  expected(pattern(kFromBytes, 5), pattern(kToBytes, 99), depth_of<Shape>()));
        }
}

#define CHECK_NOW(Shape, name) check<Shape>(#name, [](const Shape* s) { return name(s); })
#define CHECK_ASYNC(Shape, name) check<Shape>(#name, [stream](const Shape* s) { return name(s, stream); })

}  // namespace

TEST_CASE("every 2D and 3D copy moves its rows and nothing beside them", "[memcpy_rows]") {
    make_context();
    CUstream stream = make_stream();
    CHECK_NOW(CUDA_MEMCPY2D, cuMemcpy2D_v2);
    CHECK_NOW(CUDA_MEMCPY2D, cuMemcpy2D_v2_ptds);
    CHECK_NOW(CUDA_MEMCPY2D_v1, cuMemcpy2D);
    CHECK_NOW(CUDA_MEMCPY2D, cuMemcpy2DUnaligned_v2);
    CHECK_NOW(CUDA_MEMCPY2D, cuMemcpy2DUnaligned_v2_ptds);
    CHECK_NOW(CUDA_MEMCPY2D_v1, cuMemcpy2DUnaligned);
    CHECK_ASYNC(CUDA_MEMCPY2D, cuMemcpy2DAsync_v2);
    CHECK_ASYNC(CUDA_MEMCPY2D, cuMemcpy2DAsync_v2_ptsz);
    CHECK_ASYNC(CUDA_MEMCPY2D_v1, cuMemcpy2DAsync);
    CHECK_NOW(CUDA_MEMCPY3D, cuMemcpy3D_v2);
    CHECK_NOW(CUDA_MEMCPY3D, cuMemcpy3D_v2_ptds);
    CHECK_NOW(CUDA_MEMCPY3D_v1, cuMemcpy3D);
    CHECK_ASYNC(CUDA_MEMCPY3D, cuMemcpy3DAsync_v2);
    CHECK_ASYNC(CUDA_MEMCPY3D, cuMemcpy3DAsync_v2_ptsz);
    CHECK_ASYNC(CUDA_MEMCPY3D_v1, cuMemcpy3DAsync);
    CHECK_NOW(CUDA_MEMCPY3D_PEER, cuMemcpy3DPeer);
    CHECK_NOW(CUDA_MEMCPY3D_PEER, cuMemcpy3DPeer_ptds);
    CHECK_ASYNC(CUDA_MEMCPY3D_PEER, cuMemcpy3DPeerAsync);
    CHECK_ASYNC(CUDA_MEMCPY3D_PEER, cuMemcpy3DPeerAsync_ptsz);
}

TEST_CASE("rows that do not fit their pitch, plane or allocation are refused", "[memcpy_rows]") {
    make_context();
    const CUdeviceptr from = device_memory(kFromBytes), to = device_memory(kToBytes);
    const auto good = describe<CUDA_MEMCPY3D>(to, CU_MEMORYTYPE_DEVICE, from, CU_MEMORYTYPE_DEVICE);
    CU(cuMemcpy3D_v2(&good));
    const auto refused = [&](auto change) {
        CUDA_MEMCPY3D shape = good;
        change(shape);
        return cuMemcpy3D_v2(&shape) == CUDA_ERROR_INVALID_VALUE;
    };
    CHECK(refused([](auto& s) { s.srcPitch = kWidth + kFrom.x - 1; }));
    CHECK(refused([](auto& s) { s.dstPitch = kWidth + kTo.x - 1; }));
    CHECK(refused([](auto& s) { s.srcHeight = kHeight + kFrom.y - 1; }));
    CHECK(refused([](auto& s) { s.dstHeight = kHeight + kTo.y - 1; }));
    CHECK(refused([](auto& s) { s.Depth = kDepth + 1; }));
    CHECK(refused([](auto& s) { s.srcPitch = size_t{1} << 31; }));
    CHECK(refused([](auto& s) { s.WidthInBytes = SIZE_MAX - 1; }));
    CHECK(refused([](auto& s) { s.srcZ = SIZE_MAX - 1; }));
    CHECK(refused([](auto& s) { s.dstY = SIZE_MAX / 32; }));
    CHECK(refused([](auto& s) { s.Depth = s.srcHeight = s.dstHeight = size_t{1} << 38; }));
    CHECK(refused([](auto& s) {  // a plane of 2^64 bytes
        s.srcMemoryType = CU_MEMORYTYPE_HOST,
        s.srcHost = reinterpret_cast<void*>(pageable_memory(kFromBytes));
        s.srcPitch = size_t{1} << 30, s.srcHeight = size_t{1} << 34;
    }));
    CHECK(refused([](auto& s) { s.srcLOD = 1; }));
    CHECK(refused([](auto& s) { s.srcMemoryType = static_cast<CUmemorytype>(0); }));
    CHECK(refused([](auto& s) { s.dstMemoryType = static_cast<CUmemorytype>(5); }));
    CHECK(refused([](auto& s) { s.dstMemoryType = CU_MEMORYTYPE_ARRAY; }));
    CU_IS(cuMemcpy3D_v2(nullptr), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuMemcpy2DAsync_v2(nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuMemcpy3DPeer(nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("a peer copy names living contexts", "[memcpy_rows]") {
    CUcontext context = make_context();
    const CUdeviceptr a = device_memory(64), b = device_memory(64);
    int not_a_context = 0;
    CU_IS(cuMemcpyPeer(a, context, b, reinterpret_cast<CUcontext>(&not_a_context), 8),
          CUDA_ERROR_INVALID_CONTEXT);
    CU_IS(cuMemcpyPeerAsync(a, nullptr, b, context, 8, nullptr), CUDA_ERROR_INVALID_CONTEXT);
}

}  // namespace memcpy_rows_test
