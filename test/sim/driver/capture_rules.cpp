// What may not be called while something is being captured.
#include <algorithm>
#include <string_view>

#include "capture.h"

namespace gpusim::driver {
namespace {

// Calls that allocate and free other than in the order of a stream, or load and unload code: no stream orders
// them, so no capture could record them and have them repeated by the graph. The headers give no list. Calls
// that wait for streams, events and contexts, and synchronous copies and memsets, obey the same rule, but are
// asked with what they wait for (forbids_sync and its kin), because conflicts with a capture that this is
// part of are told first.
constexpr std::string_view kUnsafe[] = {
    "cuArray3DCreate",    "cuArrayCreate",       "cuArrayDestroy",         "cuIpcCloseMemHandle",
    "cuIpcOpenMemHandle", "cuMemAlloc",          "cuMemAllocHost",         "cuMemAllocManaged",
    "cuMemAllocPitch",    "cuMemFree",           "cuMemFreeHost",          "cuMemHostAlloc",
    "cuMemHostRegister",  "cuMemHostUnregister", "cuMipmappedArrayCreate", "cuMipmappedArrayDestroy",
    "cuModuleLoad",       "cuModuleLoadData",    "cuModuleLoadDataEx",     "cuModuleLoadFatBinary",
    "cuModuleUnload"};

// Whether this thread's potentially unsafe calls could spoil that capture.
bool protects(const Capture& capture, CUstreamCaptureMode mode) {
    if (!capture.running() || mode == CU_STREAM_CAPTURE_MODE_RELAXED) return false;
    if (capture.began_here()) return capture.mode() != CU_STREAM_CAPTURE_MODE_RELAXED;
    return mode == CU_STREAM_CAPTURE_MODE_GLOBAL && capture.mode() == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

template <class Condition>
bool invalidate_all(const Condition& concerned) {
    bool any = false;
    for (Capture* capture : capture::all())
        if (concerned(*capture)) {
            capture->invalidate();
            any = true;
        }
    return any;
}

bool captures_blocking_stream(const Capture& capture, const Context& context) {
    if (capture.ended()) return false;
    return std::any_of(context.streams.begin(), context.streams.end(), [&](const Stream* stream) {
        return stream->blocking() && stream->capture.get() == &capture;
    });
}

bool captures_stream_of(const Capture& capture, const Context& context) {
    return std::any_of(context.streams.begin(), context.streams.end(),
                       [&](const Stream* stream) { return stream->capture.get() == &capture; });
}

}  // namespace

namespace capture {

CUstreamCaptureMode& thread_mode() {
    thread_local CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    return mode;
}

bool makes_legacy_unusable(const Context& context) {
    return std::any_of(all().begin(), all().end(),
                       [&](const Capture* capture) { return captures_blocking_stream(*capture, context); });
}

CUresult forbids_legacy(Context& context) {
    const bool any =
        invalidate_all([&](const Capture& capture) { return captures_blocking_stream(capture, context); });
    return any ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT : CUDA_SUCCESS;
}

CUresult forbids_sync(Stream& stream) {
    if (stream.capture != nullptr) {
        if (!stream.capture->valid()) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
        stream.capture->invalidate();
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    if (stream.is_legacy) RETURN_IF_FAILED(forbids_legacy(*stream.context));
    return forbids_unsafe_call_now();
}

CUresult forbids_context_sync(Context& context) {
    const bool any = invalidate_all(
        [&](const Capture& capture) { return capture.running() && captures_stream_of(capture, context); });
    return any ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : forbids_unsafe_call_now();
}

CUresult forbids_host_wait(Event& event) {
    if (event.capture == nullptr) return forbids_unsafe_call_now();
    if (!event.capture->ended()) event.capture->invalidate();
    return CUDA_ERROR_CAPTURED_EVENT;
}

bool is_unsafe(const char* base_name) {
    return std::find(std::begin(kUnsafe), std::end(kUnsafe), base_name) != std::end(kUnsafe);
}

CUresult forbids_unsafe_call_now() {
    const auto mode = thread_mode();
    const bool any = invalidate_all([mode](const Capture& capture) { return protects(capture, mode); });
    return any ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

CUresult forbids_unsafe_call() {
    const auto held = engine::lock();
    return forbids_unsafe_call_now();
}

}  // namespace capture
}  // namespace gpusim::driver
