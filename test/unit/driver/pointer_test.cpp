// What is told about an address.
#include "copy_forms.h"

namespace pointer_test {

namespace {

template <class T>
T attribute(CUpointer_attribute which, CUdeviceptr address) {
    T value{};
    INFO("attribute " << which);
    REQUIRE(cuPointerGetAttribute(&value, which, address) == CUDA_SUCCESS);
    return value;
}

}  // namespace

TEST_CASE("attributes of a device pointer", "[pointer]") {
    box::knobs("GPUSIM_DEVICES=2");
    CUcontext context = make_context(1);
    const CUdeviceptr base = device_memory(5000), inside = base + 100, next = device_memory(8);
    CHECK(attribute<CUcontext>(CU_POINTER_ATTRIBUTE_CONTEXT, inside) == context);
    CHECK(attribute<CUmemorytype>(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, inside) == CU_MEMORYTYPE_DEVICE);
    CHECK(attribute<CUdeviceptr>(CU_POINTER_ATTRIBUTE_DEVICE_POINTER, inside) == inside);
    CHECK(attribute<int>(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, inside) == 1);
    CHECK(attribute<CUdeviceptr>(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, inside) == base);
    CHECK(attribute<size_t>(CU_POINTER_ATTRIBUTE_RANGE_SIZE, inside) == 5000);
    CHECK(attribute<bool>(CU_POINTER_ATTRIBUTE_IS_MANAGED, inside) == false);
    CHECK(attribute<bool>(CU_POINTER_ATTRIBUTE_MAPPED, inside) == true);
    CHECK(attribute<bool>(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, inside) == true);
    CHECK(attribute<unsigned long long>(CU_POINTER_ATTRIBUTE_BUFFER_ID, inside) ==
          attribute<unsigned long long>(CU_POINTER_ATTRIBUTE_BUFFER_ID, base));
    CHECK(attribute<unsigned long long>(CU_POINTER_ATTRIBUTE_BUFFER_ID, next) !=
          attribute<unsigned long long>(CU_POINTER_ATTRIBUTE_BUFFER_ID, base));
    void* host = nullptr;
    CU_IS(cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, inside), CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("attributes of pinned, registered and managed pointers", "[pointer]") {
    make_context();
    static char own[64];
    CU(cuMemHostRegister_v2(own, sizeof own, 0));
    const CUdeviceptr pinned = pinned_memory(64), registered = reinterpret_cast<CUdeviceptr>(own);
    CUdeviceptr managed = 0;
    CU(cuMemAllocManaged(&managed, 64, CU_MEM_ATTACH_GLOBAL));
    for (const CUdeviceptr address : {pinned, registered}) {
        CHECK(attribute<CUmemorytype>(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) == CU_MEMORYTYPE_HOST);
        CHECK(attribute<CUdeviceptr>(CU_POINTER_ATTRIBUTE_HOST_POINTER, address + 1) == address + 1);
        CHECK(attribute<CUdeviceptr>(CU_POINTER_ATTRIBUTE_DEVICE_POINTER, address + 1) == address + 1);
        CHECK_FALSE(attribute<bool>(CU_POINTER_ATTRIBUTE_IS_MANAGED, address));
    }
    CHECK(attribute<CUmemorytype>(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, managed) == CU_MEMORYTYPE_DEVICE);
    CHECK(attribute<bool>(CU_POINTER_ATTRIBUTE_IS_MANAGED, managed));
    CHECK(attribute<CUdeviceptr>(CU_POINTER_ATTRIBUTE_HOST_POINTER, managed) == managed);
}

TEST_CASE("of pageable memory nothing is known", "[pointer]") {
    make_context();
    int number = 0;
    const auto address = reinterpret_cast<CUdeviceptr>(&number);
    CUmemorytype type{};
    CU_IS(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address), CUDA_ERROR_INVALID_VALUE);
    CHECK_FALSE(attribute<bool>(CU_POINTER_ATTRIBUTE_IS_MANAGED, address));
    CU_IS(cuPointerGetAttribute(nullptr, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address),
          CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuPointerGetAttribute(&type, static_cast<CUpointer_attribute>(30), address),
          CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("many attributes at once, with standard values where there is none", "[pointer]") {
    make_context();
    CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                   CU_POINTER_ATTRIBUTE_CONTEXT};
    CUmemorytype type = CU_MEMORYTYPE_ARRAY;
    int ordinal = 7;
    CUcontext context = here();
    void* data[] = {&type, &ordinal, &context};
    CU(cuPointerGetAttributes(3, which, data, pageable_memory(8)));
    CHECK(static_cast<int>(type) == 0);
    CHECK(ordinal == CU_DEVICE_INVALID);
    CHECK(context == nullptr);
    CU(cuPointerGetAttributes(3, which, data, device_memory(8)));
    CHECK(type == CU_MEMORYTYPE_DEVICE);
    CHECK(ordinal == 0);
    CHECK(context == here());
    CU_IS(cuPointerGetAttributes(0, which, data, 0), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuPointerGetAttributes(3, nullptr, data, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("only synchronous memory operations can be set", "[pointer]") {
    make_context();
    const CUdeviceptr address = device_memory(64);
    const unsigned on = 1;
    CU_IS(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_IS_MANAGED, address), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, pageable_memory(8)),
          CUDA_ERROR_INVALID_VALUE);
    CHECK_FALSE(attribute<bool>(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address));
    CU(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address));
    CHECK(attribute<bool>(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address));
}

}  // namespace pointer_test
