// Allocating and freeing in the order of a stream. A stream that is being captured gets memory of its graph.
#include "capture.h"
#include "pool.h"

using namespace gpusim;
using namespace gpusim::driver;

namespace {

CUresult allocate_in_capture(CUdeviceptr* address, size_t size_bytes, const Pool& pool, Stream& stream) {
    AllocWork work;
    work.bytes = size_bytes;
    work.asked.poolProps = pool.properties;
    work.asked.bytesize = size_bytes;
    work.address = allocate_graph_memory(work, *stream.context);
    if (work.address == 0) return CUDA_ERROR_OUT_OF_MEMORY;
    work.asked.dptr = work.address;
    const CUresult result = submit(stream, work);
    if (result == CUDA_SUCCESS)
        *address = work.address;
    else
        free_graph_memory(work.address);
    return result;
}

CUresult allocate(CUdeviceptr* address, size_t size_bytes, Pool& pool, Stream& stream) {
    if (stream.capture != nullptr) return allocate_in_capture(address, size_bytes, pool, stream);
    AllocWork work;
    work.pool = &pool;
    work.bytes = size_bytes;
    work.address = take_from_pool(pool, size_bytes, stream);
    if (work.address == 0) return CUDA_ERROR_OUT_OF_MEMORY;
    const CUresult result = submit(stream, work);
    if (result == CUDA_SUCCESS)
        *address = work.address;
    else
        give_back_to_pool(work.address, Point{}, 0);
    return result;
}

// Null: not memory that a stream can free. What a graph allocates, a captured stream may free, and only that.
const MemoryRange* freeable(CUdeviceptr address, const Stream& stream) {
    const MemoryRange* range = find_range(address);
    if (range == nullptr || range->base != address) return nullptr;
    const bool of_pool = range->origin == MemoryOrigin::pool && stream.capture == nullptr;
    return of_pool || range->origin == MemoryOrigin::graph ? range : nullptr;
}

}  // namespace

API(cuMemAllocAsync)(CUdeviceptr* address, size_t size_bytes, CUstream handle) {
    if (address == nullptr || size_bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    Stream* stream = find_stream(handle);
    if (stream == nullptr) return stream_error();
    return allocate(address, size_bytes, current_pool(*stream->context->device), *stream);
}

API(cuMemAllocFromPoolAsync)
(CUdeviceptr* address, size_t size_bytes, CUmemoryPool pool_handle, CUstream handle) {
    if (address == nullptr || size_bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    Stream* stream = find_stream(handle);
    if (stream == nullptr) return stream_error();
    Pool* pool = pools().find(pool_handle);
    if (pool == nullptr || pool->destroyed) return CUDA_ERROR_INVALID_VALUE;
    return allocate(address, size_bytes, *pool, *stream);
}

API(cuMemFreeAsync)(CUdeviceptr address, CUstream handle) {
    const auto held = engine::lock();
    Stream* stream = find_stream(handle);
    if (stream == nullptr) return stream_error();
    if (freeable(address, *stream) == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return submit(*stream, FreeWork{address});
}
