// Device memory: what is allocated, counted, refused and given back.
#include <sys/mman.h>

#include <thread>

#include "copy_forms.h"
#include "engine/box_state.h"
#include "other_process.h"

namespace memory_test {

namespace {

constexpr size_t kMb = 1 << 20;

size_t free_bytes() {
    size_t left = 0, total = 0;
    CU(cuMemGetInfo_v2(&left, &total));
    return left;
}

}  // namespace

TEST_CASE("device memory is aligned, separate and counted", "[memory]") {
    make_context();
    size_t left = 0, total = 0;
    CU(cuMemGetInfo_v2(&left, &total));
    CHECK(total == size_t{16} << 30);
    const size_t before = left;
    const CUdeviceptr a = device_memory(1), b = device_memory(1000), c = device_memory(5 * kMb);
    for (const CUdeviceptr address : {a, b, c}) CHECK(address % 512 == 0);
    CHECK(before - free_bytes() == 512 + 1024 + 5 * kMb);
    put_at(a, pattern(1, 1)), put_at(b, pattern(1000, 2)), put_at(c, pattern(5 * kMb, 3));
    CHECK(bytes_at(a, 1) == pattern(1, 1));
    CHECK(bytes_at(b, 1000) == pattern(1000, 2));
    CHECK(bytes_at(c, 5 * kMb) == pattern(5 * kMb, 3));
    for (const CUdeviceptr address : {b, a, c}) CU(cuMemFree_v2(address));
    CHECK(free_bytes() == before);
}

TEST_CASE("a device holds no more than it has, over all processes", "[memory]") {
    box::knobs("GPUSIM_MEMORY_GB=1");
    OtherProcess other([] {
        make_context();
        device_memory(600 * kMb);
    });
    make_context();
    CHECK(free_bytes() == 424 * kMb);
    CUdeviceptr address = 0;
    CU_IS(cuMemAlloc_v2(&address, 425 * kMb), CUDA_ERROR_OUT_OF_MEMORY);
    CU(cuMemAlloc_v2(&address, 424 * kMb));
    CU_IS(cuMemAlloc_v2(&address, 1), CUDA_ERROR_OUT_OF_MEMORY);
    CU_IS(cuMemAlloc_v2(&address, SIZE_MAX), CUDA_ERROR_OUT_OF_MEMORY);
    other.kill_now();
    CU(cuMemAlloc_v2(&address, 600 * kMb));
}

TEST_CASE("wrong allocations and frees get their errors", "[memory]") {
    CUdeviceptr address = 0;
    CU_IS(cuMemAlloc_v2(&address, 64), CUDA_ERROR_NOT_INITIALIZED);
    CU(cuInit(0));
    CU_IS(cuMemAlloc_v2(&address, 64), CUDA_ERROR_INVALID_CONTEXT);
    make_context();
    CU_IS(cuMemAlloc_v2(&address, 0), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuMemAlloc_v2(nullptr, 64), CUDA_ERROR_INVALID_VALUE);
    CU(cuMemAlloc_v2(&address, 64));
    CU_IS(cuMemFree_v2(address + 1), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuMemFree_v2(0), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuMemFree_v2(pageable_memory(64)), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuMemFree_v2(pinned_memory(64)), CUDA_ERROR_INVALID_VALUE);
    CU(cuMemFree_v2(address));
    CU_IS(cuMemFree_v2(address), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuMemGetInfo_v2(nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("freeing waits for the work of its device", "[memory]") {
    Timeline timeline;
    make_context();
    const CUdeviceptr address = device_memory(64);
    timeline.start();
    CU(launch(kernel("busy__100us"), make_stream(CU_STREAM_NON_BLOCKING)));
    CU(cuMemFree_v2(address));
    CHECK(timeline.now() == 105'000);
}

TEST_CASE("rows of a pitched allocation begin on multiples of 512", "[memory]") {
    make_context();
    CUdeviceptr address = 0;
    size_t pitch = 0, size = 0;
    CU(cuMemAllocPitch_v2(&address, &pitch, 513, 10, 4));
    CHECK(pitch == 1024);
    CU(cuMemGetAddressRange_v2(nullptr, &size, address));
    CHECK(size == 10240);
    CU_IS(cuMemAllocPitch_v2(&address, &pitch, 0, 10, 4), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuMemAllocPitch_v2(&address, &pitch, 10, 0, 4), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuMemAllocPitch_v2(&address, &pitch, 10, 10, 3), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuMemAllocPitch_v2(&address, &pitch, SIZE_MAX / 2, 10, 4), CUDA_ERROR_OUT_OF_MEMORY);
}

TEST_CASE("the address range of a pointer is its whole allocation", "[memory]") {
    make_context();
    const CUdeviceptr address = device_memory(5000);
    CUdeviceptr base = 0;
    size_t size = 0;
    CU(cuMemGetAddressRange_v2(&base, &size, address + 4999));
    CHECK(base == address);
    CHECK(size == 5000);
    CU(cuMemGetAddressRange_v2(nullptr, nullptr, address));
    CU_IS(cuMemGetAddressRange_v2(&base, &size, address + 5000), CUDA_ERROR_NOT_FOUND);
    CU_IS(cuMemGetAddressRange_v2(&base, &size, pageable_memory(8)), CUDA_ERROR_NOT_FOUND);
}

TEST_CASE("the first API version allocates below 4 GiB", "[memory]") {
    make_context();
    CUdeviceptr_v1 address = 0, base = 0;
    unsigned pitch = 0, size = 0, left = 0, total = 0;
    const size_t before = free_bytes();
    CU(cuMemAlloc(&address, 3000));
    CU(cuMemAllocPitch(&base, &pitch, 100, 4, 4));
    CHECK(pitch == 512);
    CHECK(before - free_bytes() == 3072 + 2048);
    CU(cuMemFree(base));
    CU(cuMemGetAddressRange(&base, &size, address + 10));
    CHECK(base == address);
    CHECK(size == 3000);
    CU(cuMemGetInfo(&left, &total));
    CHECK((total == UINT32_MAX && left == UINT32_MAX));  // of 16 GiB
    put_at(address, pattern(3000, 4));
    CHECK(bytes_at(address, 3000) == pattern(3000, 4));
    CU(cuMemFree(address));
    CU_IS(cuMemFree(address), CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("a context's memory goes with it, another's stays", "[memory]") {
    make_context();
    const CUdeviceptr kept = device_memory(kMb);
    const size_t before = free_bytes();
    CUcontext context = make_context();
    device_memory(kMb);
    low_memory(kMb);
    CUarray array = array_memory(kMb);
    const CUdeviceptr pinned = pinned_memory(kMb);
    CHECK(before - free_bytes() == 3 * kMb);
    CU(cuCtxDestroy_v2(context));
    CHECK(free_bytes() == before);
    CU_IS(cuArrayDestroy(array), CUDA_ERROR_INVALID_HANDLE);
    CU_IS(cuMemFreeHost(reinterpret_cast<void*>(pinned)), CUDA_ERROR_INVALID_VALUE);
    CU(cuMemFree_v2(kept));
}

TEST_CASE("threads that allocate and free at once disturb nobody", "[memory]") {
    CUcontext context = make_context();
    const size_t before = free_bytes();
    std::vector<std::thread> threads;
    std::atomic<int> failures = 0;
    for (unsigned t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            if (cuCtxSetCurrent(context) != CUDA_SUCCESS) ++failures;
            for (unsigned i = 0; i < 300; ++i) {
                CUdeviceptr address = 0;
                if (cuMemAlloc_v2(&address, 1000 + i) != CUDA_SUCCESS) ++failures;
                if (cuMemsetD8_v2(address, static_cast<unsigned char>(t), 1000) != CUDA_SUCCESS) ++failures;
                unsigned char last = 0xff;
                if (cuMemcpyDtoH_v2(&last, address + 999, 1) != CUDA_SUCCESS || last != t) ++failures;
                if (cuMemFree_v2(address) != CUDA_SUCCESS) ++failures;
            }
        });
    for (auto& thread : threads) thread.join();
    CHECK(failures == 0);
    CHECK(free_bytes() == before);
}

}  // namespace memory_test
