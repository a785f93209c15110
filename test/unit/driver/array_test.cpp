// Arrays and mipmapped arrays: their descriptions, rows, bounds and ends.
#include "copy_forms.h"

namespace array_test {

namespace {

CUarray array_of(const CUDA_ARRAY3D_DESCRIPTOR& descriptor) {
    CUarray array = nullptr;
    CU(cuArray3DCreate_v2(&array, &descriptor));
    return array;
}

CUresult creation_of(const CUDA_ARRAY3D_DESCRIPTOR& descriptor) {
    CUarray array = nullptr;
    return cuArray3DCreate_v2(&array, &descriptor);
}

}  // namespace

TEST_CASE("an array tells what it was made as, in every version", "[array]") {
    make_context();
    const CUDA_ARRAY3D_DESCRIPTOR asked{10, 6, 3, CU_AD_FORMAT_HALF, 4, CUDA_ARRAY3D_LAYERED};
    const CUarray array = array_of(asked);
    CUDA_ARRAY3D_DESCRIPTOR told{};
    CUDA_ARRAY3D_DESCRIPTOR_v1 told_narrow{};
    CUDA_ARRAY_DESCRIPTOR flat{};
    CUDA_ARRAY_DESCRIPTOR_v1 flat_narrow{};
    CU(cuArray3DGetDescriptor_v2(&told, array));
    CU(cuArray3DGetDescriptor(&told_narrow, array));
    CU(cuArrayGetDescriptor_v2(&flat, array));
    CU(cuArrayGetDescriptor(&flat_narrow, array));
    CHECK((told.Width == 10 && told.Height == 6 && told.Depth == 3 && told.Flags == CUDA_ARRAY3D_LAYERED));
    CHECK((told_narrow.Width == 10 && told_narrow.Height == 6 && told_narrow.Depth == 3));
    CHECK((flat.Width == 10 && flat.Format == CU_AD_FORMAT_HALF && flat.NumChannels == 4));
    CHECK((flat_narrow.Height == 6 && flat_narrow.NumChannels == 4));
    CU_IS(cuArrayGetDescriptor_v2(nullptr, array), CUDA_ERROR_INVALID_VALUE);
    CU(cuArrayDestroy(array));
    CU_IS(cuArrayGetDescriptor_v2(&flat, array), CUDA_ERROR_INVALID_HANDLE);
    CU_IS(cuArrayDestroy(array), CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("the first version makes arrays, too", "[array]") {
    make_context();
    CUarray array = nullptr;
    const CUDA_ARRAY_DESCRIPTOR_v1 flat{10, 2, CU_AD_FORMAT_FLOAT, 1};
    const CUDA_ARRAY3D_DESCRIPTOR_v1 deep{10, 2, 3, CU_AD_FORMAT_FLOAT, 1, 0};
    CU(cuArrayCreate(&array, &flat));
    CU(cuArray3DCreate(&array, &deep));
    CUDA_ARRAY3D_DESCRIPTOR told{};
    CU(cuArray3DGetDescriptor_v2(&told, array));
    CHECK(told.Depth == 3);
}

TEST_CASE("what no array can be", "[array]") {
    make_context();
    CHECK(creation_of({0, 6, 3, CU_AD_FORMAT_FLOAT, 1, 0}) == CUDA_ERROR_INVALID_VALUE);
    CHECK(creation_of({8, 6, 3, CU_AD_FORMAT_FLOAT, 3, 0}) == CUDA_ERROR_INVALID_VALUE);
    CHECK(creation_of({8, 0, 3, CU_AD_FORMAT_FLOAT, 1, 0}) == CUDA_ERROR_INVALID_VALUE);
    CHECK(creation_of({8, 6, 6, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_CUBEMAP}) == CUDA_ERROR_INVALID_VALUE);
    CHECK(creation_of({8, 8, 6, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_CUBEMAP}) == CUDA_SUCCESS);
    CHECK(creation_of({8, 8, 1, CU_AD_FORMAT_NV12, 1, 0}) == CUDA_ERROR_NOT_SUPPORTED);
    CHECK(creation_of({8, 8, 1, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SPARSE}) == CUDA_ERROR_NOT_SUPPORTED);
    CHECK(creation_of({size_t{1} << 40, 8, 1, CU_AD_FORMAT_FLOAT, 1, 0}) == CUDA_ERROR_OUT_OF_MEMORY);
    CUarray array = nullptr;
    CU_IS(cuArrayCreate_v2(&array, nullptr), CUDA_ERROR_INVALID_VALUE);
}

// 8 by 4 by 3 elements of 4 bytes; rows 1 and 2 of plane 2, from element 2 on, are written and read back.
TEST_CASE("a part of a 3D array is written and read where it lies", "[array]") {
    make_context();
    const CUarray array = array_of({8, 4, 3, CU_AD_FORMAT_FLOAT, 1, 0});
    Bytes whole(8 * 4 * 3 * 4, 0xee), part = pattern(2 * 24, 3), seen(whole.size());
    CUDA_MEMCPY3D in{}, out{};
    in.srcMemoryType = CU_MEMORYTYPE_HOST, in.srcHost = whole.data();
    in.dstMemoryType = CU_MEMORYTYPE_ARRAY, in.dstArray = array;
    in.WidthInBytes = 32, in.Height = 4, in.Depth = 3;
    CU(cuMemcpy3D_v2(&in));
    in.srcHost = part.data();
    in.dstXInBytes = 8, in.dstY = 1, in.dstZ = 2, in.WidthInBytes = 24, in.Height = 2, in.Depth = 1;
    CU(cuMemcpy3D_v2(&in));
    out.srcMemoryType = CU_MEMORYTYPE_ARRAY, out.srcArray = array;
    out.dstMemoryType = CU_MEMORYTYPE_HOST, out.dstHost = seen.data();
    out.WidthInBytes = 32, out.Height = 4, out.Depth = 3;
    CU(cuMemcpy3D_v2(&out));
    for (size_t row = 0; row < 2; ++row)
        std::copy_n(part.begin() + static_cast<long>(row * 24), 24,
                    whole.begin() + static_cast<long>(2 * 128 + (1 + row) * 32 + 8));
    CHECK(seen == whole);
}

TEST_CASE("copies stay within an array", "[array]") {
    make_context();
    const CUarray array = array_of({8, 4, 3, CU_AD_FORMAT_FLOAT, 1, 0});
    Bytes bytes(1000);
    const auto copy = [&](size_t x, size_t y, size_t z, size_t w, size_t h, size_t d) {
        CUDA_MEMCPY3D in{};
        in.srcMemoryType = CU_MEMORYTYPE_HOST, in.srcHost = bytes.data();
        in.dstMemoryType = CU_MEMORYTYPE_ARRAY, in.dstArray = array;
        in.dstXInBytes = x, in.dstY = y, in.dstZ = z, in.WidthInBytes = w, in.Height = h, in.Depth = d;
        return cuMemcpy3D_v2(&in);
    };
    CHECK(copy(8, 2, 1, 24, 2, 2) == CUDA_SUCCESS);
    CHECK(copy(9, 2, 1, 24, 2, 2) == CUDA_ERROR_INVALID_VALUE);
    CHECK(copy(8, 3, 1, 24, 2, 2) == CUDA_ERROR_INVALID_VALUE);
    CHECK(copy(8, 2, 2, 24, 2, 2) == CUDA_ERROR_INVALID_VALUE);
    CU(cuMemcpyHtoA_v2(array, 300, bytes.data(), 84));
    CU_IS(cuMemcpyHtoA_v2(array, 300, bytes.data(), 85), CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("a mipmapped array has a level of half the extent below each", "[array]") {
    make_context();
    CUmipmappedArray mipmapped = nullptr;
    const CUDA_ARRAY3D_DESCRIPTOR descriptor{20, 5, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0};
    CU(cuMipmappedArrayCreate(&mipmapped, &descriptor, 3));
    CUarray level = nullptr;
    const size_t widths[] = {20, 10, 5}, heights[] = {5, 2, 1};
    for (unsigned i = 0; i < 3; ++i) {
        CUDA_ARRAY_DESCRIPTOR told{};
        CU(cuMipmappedArrayGetLevel(&level, mipmapped, i));
        CU(cuArrayGetDescriptor_v2(&told, level));
        CHECK((told.Width == widths[i] && told.Height == heights[i]));
    }
    CU_IS(cuMipmappedArrayGetLevel(&level, mipmapped, 3), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuArrayDestroy(level), CUDA_ERROR_INVALID_HANDLE);
    CU_IS(cuMipmappedArrayCreate(&mipmapped, &descriptor, 0), CUDA_ERROR_INVALID_VALUE);
    CU(cuMipmappedArrayDestroy(mipmapped));
    CU_IS(cuMipmappedArrayDestroy(mipmapped), CUDA_ERROR_INVALID_HANDLE);
    CUDA_ARRAY_DESCRIPTOR told{};
    CU_IS(cuArrayGetDescriptor_v2(&told, level), CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("an array's memory is the device's, and goes with it", "[array]") {
    make_context();
    size_t before = 0, left = 0, total = 0;
    CU(cuMemGetInfo_v2(&before, &total));
    const CUarray array = array_of({100, 100, 0, CU_AD_FORMAT_FLOAT, 4, 0});
    CU(cuMemGetInfo_v2(&left, &total));
    CUDA_ARRAY_MEMORY_REQUIREMENTS needs{};
    CU(cuArrayGetMemoryRequirements(&needs, array, 0));
    CHECK(needs.size >= 160000);
    CHECK(before - left == needs.size);
    CU(cuArrayDestroy(array));
    CU(cuMemGetInfo_v2(&left, &total));
    CHECK(before == left);
}

}  // namespace array_test
