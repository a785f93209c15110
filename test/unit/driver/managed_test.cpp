// Managed memory: the host's and the devices' at one address; advice and prefetches are kept.
#include "copy_forms.h"

namespace managed_test {

namespace {

CUdeviceptr managed_memory(size_t bytes) {
    CUdeviceptr address = 0;
    CU(cuMemAllocManaged(&address, bytes, CU_MEM_ATTACH_GLOBAL));
    return address;
}

int attribute(CUmem_range_attribute which, CUdeviceptr address, size_t bytes) {
    int value = -99;
    CU(cuMemRangeGetAttribute(&value, sizeof value, which, address, bytes));
    return value;
}

}  // namespace

TEST_CASE("managed memory is written by either side", "[managed]") {
    make_context();
    const CUdeviceptr managed = managed_memory(10000), device = device_memory(10000);
    put_at(managed, pattern(10000, 1));
    CU(cuMemcpyDtoD_v2(device, managed, 10000));
    CU(cuMemsetD8_v2(managed, 7, 100));
    CU(cuCtxSynchronize());
    CHECK(bytes_at(device, 10000) == pattern(10000, 1));
    CHECK(bytes_at(managed, 100) == Bytes(100, 7));
    CU_IS(cuMemcpyDtoD_v2(device, managed + 1, 10000), CUDA_ERROR_INVALID_VALUE);
    CU(cuMemFree_v2(managed));
    CU_IS(cuMemFree_v2(managed), CUDA_ERROR_INVALID_VALUE);
    CUdeviceptr address = 0;
    CU_IS(cuMemAllocManaged(&address, 0, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuMemAllocManaged(&address, 8, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("prefetches and advice can be asked for", "[managed]") {
    box::knobs("GPUSIM_DEVICES=2");
    make_context();
    const CUdeviceptr managed = managed_memory(4096);
    CHECK(attribute(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, managed, 4096) == CU_DEVICE_INVALID);
    CU(cuMemPrefetchAsync(managed, 4096, 1, nullptr));
    CHECK(attribute(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, managed, 4096) == 1);
    CU(cuMemPrefetchAsync_v2(managed, 4096, {CU_MEM_LOCATION_TYPE_HOST, 0}, 0, nullptr));
    CHECK(attribute(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, managed, 4096) == CU_DEVICE_CPU);
    CU(cuMemAdvise(managed, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
    CHECK(attribute(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, managed, 4096) == 1);
    CU(cuMemAdvise_v2(managed, 4096, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, {CU_MEM_LOCATION_TYPE_DEVICE, 1}));
    CHECK(attribute(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID, managed, 4096) == 1);
    CU(cuMemAdvise(managed, 4096, CU_MEM_ADVISE_SET_ACCESSED_BY, 1));
    int accessed[3] = {};
    CU(cuMemRangeGetAttribute(accessed, sizeof accessed, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, managed, 4096));
    CHECK((accessed[0] == 1 && accessed[1] == CU_DEVICE_INVALID));
}

TEST_CASE("what is not managed is neither prefetched nor advised", "[managed]") {
    make_context();
    const CUdeviceptr device = device_memory(4096), managed = managed_memory(4096);
    CU_IS(cuMemPrefetchAsync(device, 4096, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuMemPrefetchAsync(managed, 4097, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuMemPrefetchAsync(managed, 0, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuMemPrefetchAsync(managed, 4096, 9, nullptr), CUDA_ERROR_INVALID_DEVICE);
    CU_IS(cuMemAdvise(device, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, 0), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuMemAdvise(managed, 4096, static_cast<CUmem_advise>(7), 0), CUDA_ERROR_INVALID_VALUE);
    int value = 0;
    CU_IS(cuMemRangeGetAttribute(&value, 3, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, managed, 8),
          CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuStreamAttachMemAsync(CU_STREAM_LEGACY, managed, 0, CU_MEM_ATTACH_SINGLE),
          CUDA_ERROR_INVALID_VALUE);
    CU(cuStreamAttachMemAsync(make_stream(), managed, 0, CU_MEM_ATTACH_SINGLE));
}

}  // namespace managed_test
