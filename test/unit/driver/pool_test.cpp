// Stream-ordered allocation: which memory goes round, when, and what pools tell of it.
#include "copy_forms.h"

namespace pool_test {

namespace {

constexpr size_t kMb = 1 << 20;

CUdeviceptr allocate(CUstream stream, size_t bytes = kMb) {
    CUdeviceptr address = 0;
    CU(cuMemAllocAsync(&address, bytes, stream));
    return address;
}

CUmemoryPool default_pool() {
    CUmemoryPool pool = nullptr;
    CU(cuDeviceGetDefaultMemPool(&pool, 0));
    return pool;
}

uint64_t amount(CUmemoryPool pool, CUmemPool_attribute attribute) {
    uint64_t value = 0;
    CU(cuMemPoolGetAttribute(pool, attribute, &value));
    return value;
}

void set(CUmemoryPool pool, CUmemPool_attribute attribute, uint64_t value) {
    CU(cuMemPoolSetAttribute(pool, attribute, &value));
}

CUmemPoolProps properties(int device) {
    CUmemPoolProps p{};
    p.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    p.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
    return p;
}

CUmemoryPool new_pool(size_t max_size = 0) {
    CUmemoryPool pool = nullptr;
    CUmemPoolProps p = properties(0);
    p.maxSize = max_size;
    CU(cuMemPoolCreate(&pool, &p));
    return pool;
}

}  // namespace

TEST_CASE("memory of a stream is written in its order", "[pool]") {
    make_context();
    CUstream stream = make_stream();
    const CUdeviceptr address = allocate(stream, 1000);
    CHECK(address % 512 == 0);
    CU(cuMemsetD8Async(address, 5, 1000, stream));
    Bytes host(1000);
    CU(cuMemcpyDtoHAsync_v2(host.data(), address, 1000, stream));
    CU(cuMemFreeAsync(address, stream));
    CU(cuStreamSynchronize(stream));
    CHECK(host == Bytes(1000, 5));
    CU_IS(cuMemcpyDtoH_v2(host.data(), address, 1000), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuMemFreeAsync(address, stream), CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("the stream that freed memory gets it again at once, another when the free is reached", "[pool]") {
    Timeline timeline;
    make_context();
    set(default_pool(), CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, UINT64_MAX);
    CUstream one = make_stream(CU_STREAM_NON_BLOCKING), other = make_stream(CU_STREAM_NON_BLOCKING);
    const CUdeviceptr first = allocate(one);
    CU(launch(kernel("busy__100us"), one));
    CU(cuMemFreeAsync(first, one));
    const CUdeviceptr elsewhere = allocate(other);
    CHECK(elsewhere != first);
    CHECK(allocate(one) == first);
    CU(cuMemFreeAsync(first, one));
    CU(cuStreamSynchronize(one));
    CHECK(allocate(other) == first);
}

TEST_CASE("another stream gets memory at once where an event orders it", "[pool]") {
    Timeline timeline;
    make_context();
    CUstream one = make_stream(CU_STREAM_NON_BLOCKING), other = make_stream(CU_STREAM_NON_BLOCKING);
    CUevent freed = make_event(CU_EVENT_DISABLE_TIMING);
    const CUdeviceptr first = allocate(one);
    CU(launch(kernel("busy__100us"), one));
    CU(cuMemFreeAsync(first, one));
    CU(cuEventRecord(freed, one));
    CU(cuStreamWaitEvent(other, freed, 0));
    SECTION("and the pool follows events") { CHECK(allocate(other) == first); }
    SECTION("but not when the pool does not follow events") {
        int off = 0;
        CU(cuMemPoolSetAttribute(default_pool(), CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES, &off));
        CHECK(allocate(other) != first);
        CHECK(allocate(one) == first);
    }
}

TEST_CASE("when memory is short, a stream waits for another's free", "[pool]") {
    Timeline timeline("GPUSIM_MEMORY_GB=1");
    make_context();
    CUstream one = make_stream(CU_STREAM_NON_BLOCKING), other = make_stream(CU_STREAM_NON_BLOCKING);
    const CUdeviceptr first = allocate(one, 700 * kMb);
    timeline.start();
    CU(launch(kernel("busy__100us"), one));
    CU(cuMemFreeAsync(first, one));
    CHECK(allocate(other, 600 * kMb) == first);
    CU(launch(kernel("next__10us"), other));
    CU(cuCtxSynchronize());
    CHECK(timeline.span("next__10us") == "105000-115000");
}

TEST_CASE("a pool counts what it holds and what is in use", "[pool]") {
    make_context();
    CUmemoryPool pool = new_pool();
    CUstream stream = make_stream();
    set(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, UINT64_MAX);
    CUdeviceptr a = 0, b = 0;
    CU(cuMemAllocFromPoolAsync(&a, kMb, pool, stream));
    CU(cuMemAllocFromPoolAsync(&b, 2 * kMb, pool, stream));
    CU(cuMemFreeAsync(a, stream));
    CU(cuStreamSynchronize(stream));
    CHECK(amount(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 2 * kMb);
    CHECK(amount(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH) == 3 * kMb);
    CHECK(amount(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 3 * kMb);
    set(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, 0);
    CHECK(amount(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH) == 2 * kMb);
    CU(cuMemPoolTrimTo(pool, 3 * kMb));
    CHECK(amount(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 3 * kMb);
    CU(cuMemPoolTrimTo(pool, 0));
    CHECK(amount(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 2 * kMb);
    CHECK(amount(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) == 3 * kMb);
    uint64_t one = 1;
    CU_IS(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &one), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &one), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuMemPoolGetAttribute(pool, static_cast<CUmemPool_attribute>(15), &one), CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("what a pool holds beyond its threshold is given back once it is free", "[pool]") {
    Timeline timeline;
    make_context();
    CUstream stream = make_stream();
    const uint64_t threshold = GENERATE(uint64_t{0}, uint64_t{UINT64_MAX});
    set(default_pool(), CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, threshold);
    const CUdeviceptr address = allocate(stream);
    CU(launch(kernel("busy__100us"), stream));
    CU(cuMemFreeAsync(address, stream));
    CHECK(amount(default_pool(), CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == kMb);
    CU(cuStreamSynchronize(stream));
    CHECK(amount(default_pool(), CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == (threshold == 0 ? 0 : kMb));
    CU(cuMemPoolTrimTo(default_pool(), 0));
}

TEST_CASE("a pool grows to its greatest size at most", "[pool]") {
    make_context();
    CUmemoryPool pool = new_pool(2 * kMb);
    CUdeviceptr a = 0, b = 0;
    CU(cuMemAllocFromPoolAsync(&a, kMb, pool, nullptr));
    CU_IS(cuMemAllocFromPoolAsync(&b, kMb + 1, pool, nullptr), CUDA_ERROR_OUT_OF_MEMORY);
    CU(cuMemAllocFromPoolAsync(&b, kMb, pool, nullptr));
}

TEST_CASE("a destroyed pool lives until its last allocation is freed", "[pool]") {
    make_context();
    size_t before = 0, left = 0, total = 0;
    CU(cuMemGetInfo_v2(&before, &total));
    CUmemoryPool pool = new_pool();
    CUdeviceptr address = 0;
    CU(cuMemAllocFromPoolAsync(&address, kMb, pool, nullptr));
    CU(cuMemPoolDestroy(pool));
    CU_IS(cuMemPoolDestroy(pool), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuMemAllocFromPoolAsync(&address, kMb, pool, nullptr), CUDA_ERROR_INVALID_VALUE);
    CU(cuMemsetD8_v2(address, 1, kMb));
    CU(cuMemFree_v2(address));
    CU(cuMemGetInfo_v2(&left, &total));
    CHECK(left == before);
    CU_IS(cuMemPoolDestroy(default_pool()), CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("a device allocates from the pool that was set", "[pool]") {
    box::knobs("GPUSIM_DEVICES=2");
    make_context();
    CUmemoryPool pool = new_pool(), told = nullptr;
    CU(cuDeviceSetMemPool(0, pool));
    CU(cuDeviceGetMemPool(&told, 0));
    CHECK(told == pool);
    const CUdeviceptr address = allocate(nullptr);
    CU(cuPointerGetAttribute(&told, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, address));
    CHECK(told == pool);
    CU_IS(cuDeviceSetMemPool(1, pool), CUDA_ERROR_INVALID_VALUE);
    CU(cuMemPoolDestroy(pool));
    CU(cuDeviceGetMemPool(&told, 0));
    CHECK(told == default_pool());
}

TEST_CASE("access to a pool's memory is given to other devices", "[pool]") {
    box::knobs("GPUSIM_DEVICES=2");
    make_context();
    CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, 1}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemAccess_flags told{};
    CU(cuMemPoolGetAccess(&told, default_pool(), &access.location));
    CHECK(told == CU_MEM_ACCESS_FLAGS_PROT_NONE);
    CU(cuMemPoolSetAccess(default_pool(), &access, 1));
    CU(cuMemPoolGetAccess(&told, default_pool(), &access.location));
    CHECK(told == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_NONE};
    CU_IS(cuMemPoolSetAccess(default_pool(), &access, 1), CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("wrong pools and sizes get their errors", "[pool]") {
    make_context();
    CUdeviceptr address = 0;
    CU_IS(cuMemAllocAsync(&address, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuMemAllocAsync(nullptr, 64, nullptr), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuMemAllocAsync(&address, size_t{1} << 50, nullptr), CUDA_ERROR_OUT_OF_MEMORY);
    CU_IS(cuMemFreeAsync(device_memory(64), nullptr), CUDA_ERROR_INVALID_VALUE);
    CUmemoryPool pool = nullptr;
    CUmemPoolProps wrong = properties(5);
    CU_IS(cuMemPoolCreate(&pool, &wrong), CUDA_ERROR_INVALID_VALUE);
    wrong = properties(0);
    wrong.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    CU_IS(cuMemPoolCreate(&pool, &wrong), CUDA_ERROR_NOT_SUPPORTED);
    CU_IS(cuMemPoolDestroy(reinterpret_cast<CUmemoryPool>(&wrong)), CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("a captured stream allocates its graph's memory", "[pool]") {
    make_context();
    CUstream stream = make_stream();
    CUgraph graph = nullptr;
    CUgraphExec ready = nullptr;
    Bytes host(1000);
    const CUdeviceptr outside = allocate(stream);
    CU(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    const CUdeviceptr address = allocate(stream, 1000);
    CU(cuMemsetD8Async(address, 9, 1000, stream));
    CU(cuMemcpyDtoHAsync_v2(host.data(), address, 1000, stream));
    CU_IS(cuMemFreeAsync(outside, stream), CUDA_ERROR_INVALID_VALUE);
    CU(cuMemFreeAsync(address, stream));
    CU(cuStreamEndCapture(stream, &graph));
    CU(cuGraphInstantiateWithFlags(&ready, graph, 0));
    for (int launches = 0; launches < 3; ++launches) {
        host.assign(1000, 0);
        CU(cuGraphLaunch(ready, stream));
        CU(cuStreamSynchronize(stream));
        CHECK(host == Bytes(1000, 9));
    }
}

}  // namespace pool_test
