// Virtual memory management: memory that is mapped where a program wants it, also piece by piece.
#include "copy_forms.h"

namespace virtual_memory_test {

namespace {

constexpr size_t kPiece = 2 << 20;

const CUmemAllocationProp kOnDevice0 = [] {
    CUmemAllocationProp p{};
    p.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    p.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    p.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    return p;
}();
const CUmemAccessDesc kReadWrite{{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

CUdeviceptr reserve(size_t bytes) {
    CUdeviceptr address = 0;
    CU(cuMemAddressReserve(&address, bytes, 0, 0, 0));
    return address;
}

CUmemGenericAllocationHandle piece(size_t bytes = kPiece) {
    CUmemGenericAllocationHandle handle = 0;
    CU(cuMemCreate(&handle, bytes, &kOnDevice0, 0));
    return handle;
}

size_t free_bytes() {
    size_t left = 0, total = 0;
    CU(cuMemGetInfo_v2(&left, &total));
    return left;
}

}  // namespace

TEST_CASE("pieces mapped side by side are one stretch of memory", "[virtual_memory]") {
    make_context();
    const CUdeviceptr base = reserve(4 * kPiece);
    CHECK(base % kPiece == 0);
    const auto one = piece(), two = piece();
    CU(cuMemMap(base, kPiece, 0, one, 0));
    CU(cuMemMap(base + kPiece, kPiece, 0, two, 0));
    CU_IS(cuMemsetD8_v2(base, 1, 10), CUDA_ERROR_INVALID_VALUE);  // no access yet
    CU(cuMemSetAccess(base, 2 * kPiece, &kReadWrite, 1));
    const Bytes bytes = pattern(2 * kPiece, 1);
    CU(cuMemcpyHtoD_v2(base, bytes.data(), 2 * kPiece));
    CHECK(bytes_at(base, 2 * kPiece) == bytes);
    CU_IS(cuMemcpyHtoD_v2(base + 1, bytes.data(), 2 * kPiece), CUDA_ERROR_INVALID_VALUE);
    unsigned long long flags = 0;
    CU(cuMemGetAccess(&flags, &kReadWrite.location, base + kPiece));
    CHECK(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    CU(cuMemUnmap(base, 2 * kPiece));
    CU_IS(cuMemsetD8_v2(base, 1, 10), CUDA_ERROR_INVALID_VALUE);
    CU(cuMemMap(base + 3 * kPiece, kPiece, 0, one, 0));  // the bytes are the piece's, not the address's
    CU(cuMemSetAccess(base + 3 * kPiece, kPiece, &kReadWrite, 1));
    CHECK(bytes_at(base + 3 * kPiece, kPiece) == Bytes(bytes.begin(), bytes.begin() + kPiece));
}

TEST_CASE("a piece is counted until its last handle and mapping are gone", "[virtual_memory]") {
    make_context();
    const size_t before = free_bytes();
    const CUdeviceptr base = reserve(kPiece);
    auto handle = piece();
    CHECK(before - free_bytes() == kPiece);
    CU(cuMemMap(base, kPiece, 0, handle, 0));
    CU(cuMemRelease(handle));
    CHECK(before - free_bytes() == kPiece);
    CU(cuMemRetainAllocationHandle(&handle, reinterpret_cast<void*>(base)));
    CU_IS(cuMemAddressFree(base, kPiece), CUDA_ERROR_INVALID_VALUE);  // mapped
    CU(cuMemUnmap(base, kPiece));
    CHECK(before - free_bytes() == kPiece);
    CU(cuMemRelease(handle));
    CHECK(free_bytes() == before);
    CU_IS(cuMemRelease(handle), CUDA_ERROR_INVALID_VALUE);
    handle = piece();
    CU(cuMemMap(base, kPiece, 0, handle, 0));
    CU(cuMemRelease(handle));
    CU(cuMemUnmap(base, kPiece));
    CHECK(free_bytes() == before);
    CU(cuMemAddressFree(base, kPiece));
}

TEST_CASE("a piece is passed on as a descriptor", "[virtual_memory]") {
    make_context();
    const CUdeviceptr base = reserve(2 * kPiece);
    const auto handle = piece();
    CUmemGenericAllocationHandle imported = 0;
    int descriptor = -1;
    CU(cuMemExportToShareableHandle(&descriptor, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    CU(cuMemImportFromShareableHandle(&imported, reinterpret_cast<void*>(static_cast<intptr_t>(descriptor)),
                                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(descriptor);
    CU(cuMemMap(base, kPiece, 0, handle, 0));
    CU(cuMemMap(base + kPiece, kPiece, 0, imported, 0));
    CU(cuMemSetAccess(base, 2 * kPiece, &kReadWrite, 1));
    CU(cuMemsetD8_v2(base, 42, kPiece));
    CU(cuCtxSynchronize());
    CHECK(bytes_at(base + kPiece, kPiece) == Bytes(kPiece, 42));
}

TEST_CASE("wrong sizes, places and properties are refused", "[virtual_memory]") {
    make_context();
    CUdeviceptr address = 0;
    CUmemGenericAllocationHandle handle = 0;
    size_t granularity = 0;
    CU(cuMemGetAllocationGranularity(&granularity, &kOnDevice0, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    CHECK(granularity == kPiece);
    CU_IS(cuMemAddressReserve(&address, kPiece - 1, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuMemAddressReserve(&address, 0, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuMemCreate(&handle, kPiece + 1, &kOnDevice0, 0), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuMemCreate(&handle, size_t{1} << 50, &kOnDevice0, 0), CUDA_ERROR_OUT_OF_MEMORY);
    CUmemAllocationProp elsewhere = kOnDevice0;
    elsewhere.location.id = 7;
    CU_IS(cuMemCreate(&handle, kPiece, &elsewhere, 0), CUDA_ERROR_INVALID_DEVICE);
    const CUdeviceptr base = reserve(2 * kPiece);
    CU_IS(cuMemMap(base + 2 * kPiece, kPiece, 0, piece(), 0), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuMemMap(base, 2 * kPiece, 0, piece(), 0), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuMemMap(base, kPiece, 0, 12345, 0), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuMemSetAccess(base, kPiece, &kReadWrite, 1), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuMemUnmap(base, kPiece), CUDA_ERROR_INVALID_VALUE);
    CU(cuMemMap(base, kPiece, 0, piece(), 0));
    CU_IS(cuMemMap(base, kPiece, 0, piece(), 0), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuMemAddressFree(base, kPiece), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace virtual_memory_test
