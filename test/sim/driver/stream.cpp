// Streams: made, asked about, waited for.
#include <algorithm>
#include <cstring>

#include "capture.h"
#include "engine/clock.h"
#include "entry.h"
#include "work.h"

using namespace gpusim;
using namespace gpusim::driver;

namespace {

constexpr int kGreatestPriority = -5, kLeastPriority = 0;

CUresult create(CUstream* handle, unsigned flags, int priority) {
    if (handle == nullptr || (flags & ~static_cast<unsigned>(CU_STREAM_NON_BLOCKING)) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    Context* context = current_context();
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    const int within = std::clamp(priority, kGreatestPriority, kLeastPriority);
    *handle = reinterpret_cast<CUstream>(make_stream(*context, flags, within));
    return CUDA_SUCCESS;
}

template <class Answer>
CUresult about(CUstream handle, const void* result, Answer answer) {
    if (result == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    Stream* stream = find_stream(handle);
    return stream != nullptr ? answer(*stream) : stream_error();
}

// What has to be over for the stream to be idle.
Point work_of(Stream& stream) { return stream.is_legacy ? before_new_work(stream) : stream.tail; }

}  // namespace

API(cuStreamCreate)(CUstream* stream, unsigned flags) { return create(stream, flags, 0); }
API(cuStreamCreateWithPriority)(CUstream* stream, unsigned flags, int priority) {
    return create(stream, flags, priority);
}

API(cuStreamDestroy_v2)(CUstream handle) {
    const auto held = engine::lock();
    if (handle == nullptr || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD)
        return CUDA_ERROR_INVALID_HANDLE;
    Stream* stream = streams().find(handle);
    if (stream == nullptr || stream->is_legacy) return CUDA_ERROR_INVALID_HANDLE;
    destroy_stream(*stream);
    return CUDA_SUCCESS;
}
API(cuStreamDestroy)(CUstream stream) { return sim_cuStreamDestroy_v2(stream); }

API(cuStreamSynchronize)(CUstream handle) {
    auto held = engine::lock();
    Stream* stream = find_stream(handle);
    if (stream == nullptr) return stream_error();
    RETURN_IF_FAILED(capture::forbids_sync(*stream));
    return wait_for(work_of(*stream), *stream->context, held);
}

API(cuStreamQuery)(CUstream handle) {
    auto held = engine::lock();
    Stream* stream = find_stream(handle);
    if (stream == nullptr) return stream_error();
    RETURN_IF_FAILED(capture::forbids_sync(*stream));
    const auto fault = stream->context->fault;
    Point point = work_of(*stream);
    if (!engine::reached(point, held)) return CUDA_ERROR_NOT_READY;
    return fault_by_now(*fault);
}

API(cuStreamWaitEvent)(CUstream handle, CUevent event_handle, unsigned flags) {
    if ((flags & ~static_cast<unsigned>(CU_EVENT_WAIT_EXTERNAL)) != 0) return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    Stream* stream = find_stream(handle);
    if (stream == nullptr) return stream_error();
    Event* event = events().find(event_handle);
    if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    const bool as_node = stream->capture != nullptr && (flags & CU_EVENT_WAIT_EXTERNAL) != 0;
    if (!as_node && (stream->capture != nullptr || event->capture != nullptr))
        return capture::wait_event(*stream, *event);
    return submit(*stream, WaitWork{event});
}

API(cuStreamAddCallback)(CUstream handle, CUstreamCallback callback, void* data, unsigned flags) {
    if (callback == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    Stream* stream = find_stream(handle);
    if (stream == nullptr) return stream_error();
    if (stream->capture != nullptr) return capture::forbids_sync(*stream);
    return submit(*stream, HostWork{nullptr, data, callback, handle});
}

API(cuLaunchHostFunc)(CUstream handle, CUhostFn function, void* data) {
    if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    Stream* stream = find_stream(handle);
    if (stream == nullptr) return stream_error();
    return submit(*stream, HostWork{function, data, nullptr, nullptr});
}
API(cuLaunchHostFunc_v2)(CUstream handle, CUhostFn function, void* data, unsigned) {
    return sim_cuLaunchHostFunc(handle, function, data);
}

API(cuStreamGetFlags)(CUstream handle, unsigned* flags) {
    return about(handle, flags, [=](Stream& stream) {
        *flags = stream.flags;
        return CUDA_SUCCESS;
    });
}
API(cuStreamGetPriority)(CUstream handle, int* priority) {
    return about(handle, priority, [=](Stream& stream) {
        *priority = stream.priority;
        return CUDA_SUCCESS;
    });
}
API(cuStreamGetId)(CUstream handle, unsigned long long* id) {
    return about(handle, id, [=](Stream& stream) {
        *id = stream.id;
        return CUDA_SUCCESS;
    });
}
API(cuStreamGetCtx)(CUstream handle, CUcontext* context) {
    return about(handle, context, [=](Stream& stream) {
        *context = reinterpret_cast<CUcontext>(stream.context);
        return CUDA_SUCCESS;
    });
}
API(cuStreamGetCtx_v2)(CUstream handle, CUcontext* context, CUgreenCtx* green) {
    if (green != nullptr) *green = nullptr;
    return sim_cuStreamGetCtx(handle, context);
}
API(cuStreamGetDevice)(CUstream handle, CUdevice* ordinal) {
    return about(handle, ordinal, [=](Stream& stream) {
        *ordinal = stream.context->device->ordinal;
        return CUDA_SUCCESS;
    });
}

static_assert(sizeof(CUstreamAttrValue) == sizeof(Stream{}.attribute_values[0]));

namespace {

bool is_of_streams(CUstreamAttrID id) {
    switch (static_cast<int>(id)) {
        case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
        case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
        case CU_LAUNCH_ATTRIBUTE_PRIORITY:
        case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
        case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
        case CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING:
            return true;
        default:
            return false;
    }
}

}  // namespace

API(cuStreamSetAttribute)(CUstream handle, CUstreamAttrID id, const CUstreamAttrValue* value) {
    if (!is_of_streams(id)) return CUDA_ERROR_INVALID_VALUE;
    return about(handle, value, [=](Stream& stream) {
        if (id == CU_LAUNCH_ATTRIBUTE_PRIORITY)
            stream.priority = std::clamp(value->priority, kGreatestPriority, kLeastPriority);
        std::memcpy(&stream.attribute_values[id], value, sizeof *value);
        return CUDA_SUCCESS;
    });
}
API(cuStreamGetAttribute)(CUstream handle, CUstreamAttrID id, CUstreamAttrValue* value) {
    if (!is_of_streams(id)) return CUDA_ERROR_INVALID_VALUE;
    return about(handle, value, [=](Stream& stream) {
        std::memcpy(value, &stream.attribute_values[id], sizeof *value);
        if (id == CU_LAUNCH_ATTRIBUTE_PRIORITY) value->priority = stream.priority;
        return CUDA_SUCCESS;
    });
}
API(cuStreamCopyAttributes)(CUstream target, CUstream source) {
    const auto held = engine::lock();
    Stream* to = find_stream(target);
    const Stream* from = find_stream(source);
    if (to == nullptr || from == nullptr) return stream_error();
    if (to->context != from->context) return CUDA_ERROR_INVALID_VALUE;
    std::copy(std::begin(from->attribute_values), std::end(from->attribute_values), to->attribute_values);
    to->priority = from->priority;
    return CUDA_SUCCESS;
}
