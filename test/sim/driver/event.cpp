// Events: recorded in streams, waited for by the host, compared in time.
#include <cmath>
#include <utility>

#include "capture.h"
#include "engine/clock.h"
#include "engine/knobs.h"
#include "entry.h"
#include "ipc.h"
#include "work.h"

using namespace gpusim;
using namespace gpusim::driver;

namespace {

constexpr unsigned kEventFlags = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;

CUresult record(CUevent event_handle, CUstream stream_handle, unsigned flags) {
    if ((flags & ~static_cast<unsigned>(CU_EVENT_RECORD_EXTERNAL)) != 0) return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    Stream* stream = find_stream(stream_handle);
    if (stream == nullptr) return stream_error();
    Event* event = events().find(event_handle);
    if (event == nullptr || event->context != stream->context) return CUDA_ERROR_INVALID_HANDLE;
    if (stream->capture != nullptr && (flags & CU_EVENT_RECORD_EXTERNAL) == 0)
        return capture::record_event(*stream, *event);
    const CUresult result = submit(*stream, RecordWork{event});
    if (!std::exchange(stream->had_event, true) && knobs().first_event_ns > 0)
        clock::work_until(clock::now() + static_cast<Ns>(knobs().first_event_ns));
    return result;
}

bool is_seen(const Point& point) {
    constexpr Ns kOften = 1'000'000;
    const Ns late_ns = point.end_ns / kOften % 5 == 4 ? static_cast<Ns>(knobs().seen_late_ns) : 0;
    return late_ns == 0 || clock::now() >= point.end_ns + late_ns;
}

double stamp_of(const Point& point) {
    const double ns = clock::device_ns(point.end_ns), grain = static_cast<double>(knobs().grain_ns);
    return grain > 0 ? std::floor(ns / grain) * grain : ns;
}

CUresult elapsed(float* milliseconds, CUevent start_handle, CUevent end_handle) {
    if (milliseconds == nullptr) return CUDA_ERROR_INVALID_VALUE;
    auto held = engine::lock();
    Event* start = events().find(start_handle);
    Event* end = events().find(end_handle);
    if (start == nullptr || end == nullptr || start->context != end->context)
        return CUDA_ERROR_INVALID_HANDLE;
    if (start->capture != nullptr || end->capture != nullptr) return CUDA_ERROR_CAPTURED_EVENT;
    if (!start->recorded || !end->recorded || ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING) != 0)
        return CUDA_ERROR_INVALID_HANDLE;
    Point from = start->point, to = end->point;  // the lock may be given up meanwhile, and events destroyed
    if (!engine::reached(from, held) || !engine::reached(to, held)) return CUDA_ERROR_NOT_READY;
    const double ns = stamp_of(to) - stamp_of(from);
    *milliseconds = static_cast<float>(ns * 1e-6);
    return CUDA_SUCCESS;
}

}  // namespace

API(cuEventCreate)(CUevent* handle, unsigned flags) {
    const bool wrong_interprocess =
        (flags & CU_EVENT_INTERPROCESS) != 0 && (flags & CU_EVENT_DISABLE_TIMING) == 0;
    if (handle == nullptr || (flags & ~kEventFlags) != 0 || wrong_interprocess)
        return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    Context* context = current_context();
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    Event* event = events().make();
    event->context = context;
    event->flags = flags;
    *handle = reinterpret_cast<CUevent>(event);
    return CUDA_SUCCESS;
}

API(cuEventDestroy_v2)(CUevent handle) {
    const auto held = engine::lock();
    Event* event = events().find(handle);
    if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    events().destroy(event);
    return CUDA_SUCCESS;
}
API(cuEventDestroy)(CUevent event) { return sim_cuEventDestroy_v2(event); }

API(cuEventRecord)(CUevent event, CUstream stream) { return record(event, stream, 0); }
API(cuEventRecordWithFlags)(CUevent event, CUstream stream, unsigned flags) {
    return record(event, stream, flags);
}

API(cuEventQuery)(CUevent handle) {
    if (handle == nullptr) return CUDA_ERROR_INVALID_HANDLE;  // without the lock: also in a signal's handler
    auto held = engine::lock();
    Event* event = events().find(handle);
    if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    RETURN_IF_FAILED(capture::forbids_host_wait(*event));
    if (event->shared != nullptr) interprocess::refresh(*event);
    const auto fault = event->context->fault;
    Point point = event->point;  // the lock may be given up meanwhile, and the event destroyed
    if (!engine::reached(point, held) || !is_seen(point)) return CUDA_ERROR_NOT_READY;
    return fault_by_now(*fault);
}

API(cuEventSynchronize)(CUevent handle) {
    auto held = engine::lock();
    Event* event = events().find(handle);
    if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    RETURN_IF_FAILED(capture::forbids_host_wait(*event));
    if (event->shared != nullptr) interprocess::refresh(*event);
    return wait_for(event->point, *event->context, held);
}

API(cuEventElapsedTime)(float* milliseconds, CUevent start, CUevent end) {
    return elapsed(milliseconds, start, end);
}
API(cuEventElapsedTime_v2)(float* milliseconds, CUevent start, CUevent end) {
    return elapsed(milliseconds, start, end);
}
