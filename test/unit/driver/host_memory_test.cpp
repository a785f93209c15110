// Pinned host memory: allocated, registered, asked about and refused.
#include <sys/mman.h>

#include "copy_forms.h"

namespace host_memory_test {

namespace {

void* host(size_t bytes) { return reinterpret_cast<void*>(pinned_memory(bytes)); }
void* at(void* base, size_t offset) { return static_cast<char*>(base) + offset; }

}  // namespace

TEST_CASE("pinned memory is the host's and tells its flags", "[host_memory]") {
    make_context();
    void* memory = nullptr;
    const unsigned flags = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP;
    CU(cuMemHostAlloc(&memory, 5000, flags));
    static_cast<char*>(memory)[4999] = 1;
    unsigned told = 0;
    CU(cuMemHostGetFlags(&told, at(memory, 10)));
    CHECK(told == flags);
    CUdeviceptr device = 0;
    CU(cuMemHostGetDevicePointer_v2(&device, at(memory, 10), 0));
    CHECK(device == reinterpret_cast<CUdeviceptr>(memory) + 10);
    CU(cuMemFreeHost(memory));
    CU_IS(cuMemFreeHost(memory), CUDA_ERROR_INVALID_VALUE);
    CU(cuMemAllocHost(&memory, 100));
    CU(cuMemFreeHost(memory));
    CU(cuMemAllocHost_v2(&memory, 100));
    CU(cuMemHostGetFlags(&told, memory));
    CHECK(told == 0);
    CU(cuMemFreeHost(memory));
}

TEST_CASE("wrong uses of pinned memory get their errors", "[host_memory]") {
    void* memory = nullptr;
    CU(cuInit(0));
    CU_IS(cuMemHostAlloc(&memory, 100, 0), CUDA_ERROR_INVALID_CONTEXT);
    make_context();
    CU_IS(cuMemHostAlloc(&memory, 0, 0), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuMemHostAlloc(nullptr, 100, 0), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuMemHostAlloc(&memory, 100, 8), CUDA_ERROR_INVALID_VALUE);
    memory = host(100);
    CU_IS(cuMemFreeHost(at(memory, 1)), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuMemFreeHost(nullptr), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuMemFreeHost(reinterpret_cast<void*>(device_memory(8))), CUDA_ERROR_INVALID_VALUE);
    CUdeviceptr device = 0;
    unsigned flags = 0;
    CU_IS(cuMemHostGetDevicePointer_v2(&device, memory, 1), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuMemHostGetDevicePointer_v2(&device, &device, 0), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuMemHostGetFlags(&flags, &device), CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("host memory can be registered once", "[host_memory]") {
    make_context();
    alignas(4096) static char own[3 * 4096];
    CU(cuMemHostRegister_v2(own, sizeof own, CU_MEMHOSTREGISTER_DEVICEMAP));
    CU_IS(cuMemHostRegister_v2(own, sizeof own, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    CU_IS(cuMemHostRegister(own + 4096, 10, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    CUdeviceptr device = 0;
    CU(cuMemHostGetDevicePointer_v2(&device, own + 4096, 0));
    CHECK(device == reinterpret_cast<CUdeviceptr>(own + 4096));
    CU_IS(cuMemHostUnregister(own + 4096), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    CU_IS(cuMemFreeHost(own), CUDA_ERROR_INVALID_VALUE);
    CU(cuMemHostUnregister(own));
    CU_IS(cuMemHostUnregister(own), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    CU(cuMemHostRegister(own, sizeof own, 0));
    CU(cuMemHostUnregister(own));
}

TEST_CASE("what cannot be registered", "[host_memory]") {
    make_context();
    static char own[64];
    CU_IS(cuMemHostRegister_v2(nullptr, 64, 0), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuMemHostRegister_v2(own, 0, 0), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuMemHostRegister_v2(own, 64, 0x40), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuMemHostUnregister(nullptr), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuMemHostRegister_v2(host(4096), 4096, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    void* gone = mmap(nullptr, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(at(gone, 4096), 4096);
    CU_IS(cuMemHostRegister_v2(gone, 8192, 0), CUDA_ERROR_INVALID_VALUE);
    munmap(gone, 4096);
}

TEST_CASE("pinned memory is freed or unregistered only after all work", "[host_memory]") {
    Timeline timeline("GPUSIM_DEVICES=2");
    make_context(1);
    const CUfunction busy = kernel("busy__100us");
    timeline.start();
    CU(launch(busy));
    make_context(0);
    CU(cuMemFreeHost(host(64)));
    CHECK(timeline.now() == 105'000);
}

}  // namespace host_memory_test
