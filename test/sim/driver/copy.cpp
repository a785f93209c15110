#include "copy.h"

#include <algorithm>
#include <climits>
#include <cstring>

#include "array.h"
#include "capture.h"
#include "engine/box_state.h"
#include "engine/knobs.h"
#include "engine/variation.h"

namespace gpusim::driver {
namespace {

constexpr size_t kStagedBytes = 65536;  // up to here a pageable source is read during the call
constexpr size_t kMaxPitch = INT_MAX;   // CU_DEVICE_ATTRIBUTE_MAX_PITCH

// One side of a shape, as given.
struct Operand {
    CUmemorytype type;
    uintptr_t host, device;
    CUarray array;
    size_t x, y, z, lod, pitch, height;
};

Operand source(const CUDA_MEMCPY3D_PEER& s) {
    return {s.srcMemoryType, reinterpret_cast<uintptr_t>(s.srcHost),
            s.srcDevice,     s.srcArray,
            s.srcXInBytes,   s.srcY,
            s.srcZ,          s.srcLOD,
            s.srcPitch,      s.srcHeight};
}

Operand target(const CUDA_MEMCPY3D_PEER& s) {
    return {s.dstMemoryType, reinterpret_cast<uintptr_t>(s.dstHost),
            s.dstDevice,     s.dstArray,
            s.dstXInBytes,   s.dstY,
            s.dstZ,          s.dstLOD,
            s.dstPitch,      s.dstHeight};
}

// One row in an array may run on over its rows: that is how the forms with an offset reach 2D arrays.
CUresult resolve_array(const Operand& o, const Copy& extent, CopySide& side) {
    const Array* array = arrays().find(o.array);
    if (array == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const bool one_row = extent.height == 1 && extent.depth == 1 && o.y == 0 && o.z == 0;
    if (o.x + extent.width > (one_row ? array->size_bytes() : array->row_bytes()))
        return CUDA_ERROR_INVALID_VALUE;
    if (o.y + extent.height > array->rows() || o.z + extent.depth > array->planes())
        return CUDA_ERROR_INVALID_VALUE;
    side.kind = MemoryKind::device;
    side.device = array->context->device->ordinal;
    side.pitch = array->row_bytes();
    side.plane_bytes = side.pitch * array->rows();
    side.first = array->base + o.z * side.plane_bytes + o.y * side.pitch + o.x;
    return CUDA_SUCCESS;
}

// Of all numbers of one side; so that none of the sums and products below runs over.
bool are_sane(const Operand& o, const Copy& extent) {
    constexpr size_t kMost = size_t{1} << 40;
    return std::max({o.x, o.y, o.z, o.height, extent.width, extent.height, extent.depth}) <= kMost;
}

// Where pitch and height are left 0, rows and planes follow one another without gaps.
CUresult lay_out(const Operand& o, const Copy& extent, CopySide& side) {
    const size_t height = o.height != 0 ? o.height : o.y + extent.height;
    side.pitch = o.pitch != 0 ? o.pitch : o.x + extent.width;
    if (o.pitch > kMaxPitch || side.pitch < o.x + extent.width) return CUDA_ERROR_INVALID_VALUE;
    if (extent.depth > 1 && height < o.y + extent.height) return CUDA_ERROR_INVALID_VALUE;
    constexpr size_t kAddressSpace = size_t{1} << 47;
    const auto plane_bytes = static_cast<unsigned __int128>(side.pitch) * height;
    const auto rows_bytes = static_cast<unsigned __int128>(side.pitch) * (o.y + extent.height);
    if (plane_bytes * (o.z + extent.depth) + rows_bytes > kAddressSpace) return CUDA_ERROR_INVALID_VALUE;
    side.plane_bytes = side.pitch * height;
    side.first =
        (o.type == CU_MEMORYTYPE_HOST ? o.host : o.device) + o.z * side.plane_bytes + o.y * side.pitch + o.x;
    return CUDA_SUCCESS;
}

CUresult resolve_side(const Operand& o, const Copy& extent, CopySide& side) {
    if (o.lod != 0 || !are_sane(o, extent)) return CUDA_ERROR_INVALID_VALUE;
    if (o.type == CU_MEMORYTYPE_ARRAY) return resolve_array(o, extent, side);
    if (o.type < CU_MEMORYTYPE_HOST || o.type > CU_MEMORYTYPE_UNIFIED) return CUDA_ERROR_INVALID_VALUE;
    if ((o.type == CU_MEMORYTYPE_HOST ? o.host : o.device) == 0) return CUDA_ERROR_INVALID_VALUE;
    RETURN_IF_FAILED(lay_out(o, extent, side));
    const MemoryRange* range = find_range(side.first);
    if (range == nullptr) {
        const bool not_of_host = o.type == CU_MEMORYTYPE_DEVICE || is_device_address(side.first);
        return not_of_host ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    }
    const size_t reach =
        (extent.depth - 1) * side.plane_bytes + (extent.height - 1) * side.pitch + extent.width;
    side.kind = range->kind;
    side.device = range->device;
    side.sync_memops = range->sync_memops;
    // Host memory may be registered in part; whatever the device reaches must be one allocation.
    const bool all_of_it = !side.on_host() || o.type == CU_MEMORYTYPE_DEVICE;
    return all_of_it && !holds(*range, side.first, reach) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

struct DirectionFacts {
    const char* word;
    double Knobs::*rate;
};

const DirectionFacts& facts_of(Direction direction) {
    static constexpr DirectionFacts facts[] = {{"h2d", &Knobs::h2d_gbs},
                                               {"d2h", &Knobs::d2h_gbs},
                                               {"d2d", &Knobs::d2d_gbs},
                                               {"p2p", &Knobs::p2p_gbs},
                                               {"h2h", &Knobs::pageable_gbs}};
    return facts[static_cast<int>(direction)];
}

// 1 GB/s is one byte in a nanosecond.
Ns duration_ns(const Copy& copy) {
    const double rate =
        copy.with_pageable() ? knobs().pageable_gbs : knobs().*facts_of(copy.direction()).rate;
    return static_cast<Ns>(static_cast<double>(copy.bytes()) / rate);
}

void count_bytes(const Copy& copy) {
    const auto bytes = static_cast<int64_t>(copy.bytes());
    switch (copy.direction()) {
        case Direction::h2d:
            return box::count_bytes(copy.to.device, 0, bytes);
        case Direction::d2h:
            return box::count_bytes(copy.from.device, 1, bytes);
        case Direction::p2p:
            box::count_bytes(copy.from.device, 2, bytes);
            return box::count_bytes(copy.to.device, 2, bytes);
        case Direction::d2d:
        case Direction::h2h:
            return;
    }
}

enum class Returns { at_once, staged, over };

Returns returns_when(const Copy& copy, CopyForm form, const Context& context) {
    const bool asynchronous = form != CopyForm::synchronous;
    const bool always_over =
        (context.flags & CU_CTX_SYNC_MEMOPS) != 0 || copy.from.sync_memops || copy.to.sync_memops;
    if (!asynchronous && always_over) return Returns::over;
    const bool read_in_call =
        copy.from.kind == MemoryKind::pageable || form == CopyForm::asynchronous_from_ephemeral;
    switch (copy.direction()) {
        case Direction::h2h:
            return Returns::over;
        case Direction::h2d:
            if (read_in_call) return copy.bytes() <= kStagedBytes ? Returns::staged : Returns::over;
            return asynchronous ? Returns::at_once : Returns::over;
        case Direction::d2h:
            return asynchronous && !copy.with_pageable() ? Returns::at_once : Returns::over;
        default:
            return Returns::at_once;
    }
}

std::shared_ptr<std::vector<std::byte>> stage(const Copy& copy) {
    auto bytes = std::make_shared<std::vector<std::byte>>(copy.bytes());
    Copy into = copy;
    into.to.first = reinterpret_cast<uintptr_t>(bytes->data());
    into.to.pitch = copy.width;
    into.to.plane_bytes = copy.width * copy.height;
    into.move();
    return bytes;
}

Copy from_staged(Copy copy, const std::vector<std::byte>& bytes) {
    copy.from.first = reinterpret_cast<uintptr_t>(bytes.data());
    copy.from.pitch = copy.width;
    copy.from.plane_bytes = copy.width * copy.height;
    return copy;
}

CUresult copy_staged(Stream& stream, const Copy& copy, CopyWork work, CopyForm form, engine::Lock& held) {
    if (form == CopyForm::synchronous)
        RETURN_IF_FAILED(wait_for(before_new_work(stream), *stream.context, held));
    work.staged = stage(copy);
    return submit(stream, std::move(work));
}

bool is_empty(const CUDA_MEMCPY3D_PEER& s) { return s.WidthInBytes == 0 || s.Height == 0 || s.Depth == 0; }

}  // namespace

Direction Copy::direction() const {
    if (from.on_host()) return to.on_host() ? Direction::h2h : Direction::h2d;
    if (to.on_host()) return Direction::d2h;
    return from.device == to.device ? Direction::d2d : Direction::p2p;
}

bool Copy::with_pageable() const {
    return from.kind == MemoryKind::pageable || to.kind == MemoryKind::pageable;
}

void Copy::move() const {
    const auto at = [](uintptr_t address) { return reinterpret_cast<void*>(address); };
    const bool gapless = from.pitch == width && to.pitch == width && from.plane_bytes == width * height &&
                         to.plane_bytes == width * height;
    if (gapless) {
        std::memmove(at(to.first), at(from.first), bytes());
        return;
    }
    for (size_t z = 0; z < depth; ++z)
        for (size_t y = 0; y < height; ++y)
            std::memmove(at(to.first + z * to.plane_bytes + y * to.pitch),
                         at(from.first + z * from.plane_bytes + y * from.pitch), width);
}

CUresult resolve(const CUDA_MEMCPY3D_PEER& shape, Copy& result) {
    result.width = shape.WidthInBytes, result.height = shape.Height, result.depth = shape.Depth;
    RETURN_IF_FAILED(resolve_side(source(shape), result, result.from));
    return resolve_side(target(shape), result, result.to);
}

CUresult copy_on(Stream& stream, const CUDA_MEMCPY3D_PEER& shape, CopyForm form, engine::Lock& held) {
    if (is_empty(shape)) return CUDA_SUCCESS;
    Copy described;
    RETURN_IF_FAILED(resolve(shape, described));
    CopyWork work;
    work.shape = shape;
    if (form == CopyForm::synchronous) RETURN_IF_FAILED(capture::forbids_sync(stream));
    if (stream.capture != nullptr) return submit(stream, std::move(work));
    switch (returns_when(described, form, *stream.context)) {
        case Returns::staged:
            return copy_staged(stream, described, std::move(work), form, held);
        case Returns::over:
            return submit_and_wait(stream, std::move(work), held);
        default:
            return submit(stream, std::move(work));
    }
}

CUresult copy(const CUDA_MEMCPY3D_PEER& shape, CopyForm form, CUstream handle) {
    auto held = engine::lock();
    Stream* stream = find_stream(handle);
    return stream == nullptr ? stream_error() : copy_on(*stream, shape, form, held);
}

Point issue_work(const CopyWork& work, const Place& place, const Point& after) {
    if (is_empty(work.shape)) return after;
    Copy described;
    const CUresult result = resolve(work.shape, described);
    Operation op;
    op.op = facts_of(described.direction()).word;
    op.device = place.context->device->ordinal;
    op.stream = place.stream_id;
    op.earliest_ns = place.issued_ns + (place.in_graph ? 0 : knobs().latency_ns);
    op.fault = place.context->fault;
    if (result != CUDA_SUCCESS) {  // memory that has been freed since the copy was described
        op.error = CUDA_ERROR_ILLEGAL_ADDRESS;
        return engine::issue(std::move(op), {&after});
    }
    op.bytes = static_cast<int64_t>(described.bytes());
    op.duration_ns = vary_copy(duration_ns(described), op.device);
    if (work.staged != nullptr) described = from_staged(described, *work.staged);
    op.move = [described, staged = work.staged] { described.move(); };
    count_bytes(described);
    return engine::issue(std::move(op), {&after});
}

}  // namespace gpusim::driver
