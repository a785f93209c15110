// Memsets. Of device memory they are asynchronous to the host in every form; of pinned or managed memory the
// forms without Async return when they are over.
#include <cstring>

#include "capture.h"
#include "engine/knobs.h"
#include "engine/variation.h"
#include "memory.h"
#include "work.h"

namespace gpusim::driver {
namespace {

size_t row_bytes(const MemsetWork& work) { return work.width * work.element_bytes; }

bool is_empty(const MemsetWork& work) { return work.width == 0 || work.height == 0; }

CUresult check(const MemsetWork& work) {
    if (is_empty(work)) return CUDA_SUCCESS;
    constexpr size_t kMost = size_t{1} << 47;  // no memory is larger, and no product below runs over
    const size_t pitch = work.height > 1 ? work.pitch : 0;
    if (work.width > kMost || work.height > kMost || (pitch != 0 && work.height > kMost / pitch))
        return CUDA_ERROR_INVALID_VALUE;
    if (work.target % work.element_bytes != 0 || pitch % work.element_bytes != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (work.height > 1 && pitch < row_bytes(work)) return CUDA_ERROR_INVALID_VALUE;
    const MemoryRange* range = find_range(work.target);
    const size_t reach = (work.height - 1) * pitch + row_bytes(work);
    return range != nullptr && holds(*range, work.target, reach) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

void fill_row(uintptr_t first, const MemsetWork& work) {
    auto* bytes = reinterpret_cast<std::byte*>(first);
    if (work.element_bytes == 1) {
        std::memset(bytes, static_cast<int>(work.value), work.width);
        return;
    }
    for (size_t i = 0; i < work.width; ++i)  // little-endian: the value's low bytes come first
        std::memcpy(bytes + i * work.element_bytes, &work.value, work.element_bytes);
}

void fill(const MemsetWork& work) {
    for (size_t y = 0; y < work.height; ++y) fill_row(work.target + y * work.pitch, work);
}

bool returns_over(const MemsetWork& work, const Context& context) {
    const MemoryRange& range = *find_range(work.target);
    return range.kind != MemoryKind::device || range.sync_memops || (context.flags & CU_CTX_SYNC_MEMOPS) != 0;
}

enum class Form { synchronous, asynchronous };

CUresult set(const MemsetWork& work, Form form, CUstream handle = nullptr) {
    auto held = engine::lock();
    Stream* stream = find_stream(handle);
    if (stream == nullptr) return stream_error();
    RETURN_IF_FAILED(check(work));
    if (form == Form::synchronous) RETURN_IF_FAILED(capture::forbids_sync(*stream));
    if (is_empty(work)) return CUDA_SUCCESS;
    if (form == Form::synchronous && returns_over(work, *stream->context))
        return submit_and_wait(*stream, work, held);
    return submit(*stream, work);
}

template <class Value>
MemsetWork rows(CUdeviceptr target, size_t pitch, Value value, size_t width, size_t height) {
    return {target, pitch, value, sizeof(Value), width, height};
}

template <class Value>
MemsetWork row(CUdeviceptr target, Value value, size_t count) {
    return rows(target, 0, value, count, 1);
}

}  // namespace

Point issue_work(const MemsetWork& work, const Place& place, const Point& after) {
    if (is_empty(work)) return after;
    Operation op;
    op.op = "memset";
    op.device = place.context->device->ordinal;
    op.stream = place.stream_id;
    op.earliest_ns = place.issued_ns + (place.in_graph ? 0 : knobs().latency_ns);
    op.fault = place.context->fault;
    if (check(work) != CUDA_SUCCESS) {  // memory that has been freed since the memset was described
        op.error = CUDA_ERROR_ILLEGAL_ADDRESS;
        return engine::issue(std::move(op), {&after});
    }
    const double bytes = static_cast<double>(row_bytes(work) * work.height);
    op.bytes = static_cast<int64_t>(bytes);
    op.duration_ns = vary_copy(static_cast<Ns>(bytes / knobs().d2d_gbs), op.device);
    op.move = [work] { fill(work); };
    return engine::issue(std::move(op), {&after});
}

}  // namespace gpusim::driver

using namespace gpusim::driver;

using Narrow = CUdeviceptr_v1;

API(cuMemsetD8_v2)(CUdeviceptr to, unsigned char value, size_t count) {
    return set(row(to, value, count), Form::synchronous);
}
API(cuMemsetD8)(Narrow to, unsigned char value, unsigned count) {
    return set(row(to, value, count), Form::synchronous);
}
API(cuMemsetD8Async)(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
    return set(row(to, value, count), Form::asynchronous, stream);
}
API(cuMemsetD16_v2)(CUdeviceptr to, unsigned short value, size_t count) {
    return set(row(to, value, count), Form::synchronous);
}
API(cuMemsetD16)(Narrow to, unsigned short value, unsigned count) {
    return set(row(to, value, count), Form::synchronous);
}
API(cuMemsetD16Async)(CUdeviceptr to, unsigned short value, size_t count, CUstream stream) {
    return set(row(to, value, count), Form::asynchronous, stream);
}
API(cuMemsetD32_v2)(CUdeviceptr to, unsigned value, size_t count) {
    return set(row(to, value, count), Form::synchronous);
}
API(cuMemsetD32)(Narrow to, unsigned value, unsigned count) {
    return set(row(to, value, count), Form::synchronous);
}
API(cuMemsetD32Async)(CUdeviceptr to, unsigned value, size_t count, CUstream stream) {
    return set(row(to, value, count), Form::asynchronous, stream);
}

API(cuMemsetD2D8_v2)(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height) {
    return set(rows(to, pitch, value, width, height), Form::synchronous);
}
API(cuMemsetD2D8)(Narrow to, unsigned pitch, unsigned char value, unsigned width, unsigned height) {
    return set(rows(to, pitch, value, width, height), Form::synchronous);
}
API(cuMemsetD2D8Async)
(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height, CUstream stream) {
    return set(rows(to, pitch, value, width, height), Form::asynchronous, stream);
}
API(cuMemsetD2D16_v2)(CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height) {
    return set(rows(to, pitch, value, width, height), Form::synchronous);
}
API(cuMemsetD2D16)(Narrow to, unsigned pitch, unsigned short value, unsigned width, unsigned height) {
    return set(rows(to, pitch, value, width, height), Form::synchronous);
}
API(cuMemsetD2D16Async)
(CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height, CUstream stream) {
    return set(rows(to, pitch, value, width, height), Form::asynchronous, stream);
}
API(cuMemsetD2D32_v2)(CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height) {
    return set(rows(to, pitch, value, width, height), Form::synchronous);
}
API(cuMemsetD2D32)(Narrow to, unsigned pitch, unsigned value, unsigned width, unsigned height) {
    return set(rows(to, pitch, value, width, height), Form::synchronous);
}
API(cuMemsetD2D32Async)
(CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height, CUstream stream) {
    return set(rows(to, pitch, value, width, height), Form::asynchronous, stream);
}
