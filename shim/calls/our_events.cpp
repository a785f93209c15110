#include "our_events.h"

#include "asked.h"
#include "unanswered.h"

namespace gpushim::shim {
namespace {

ASKED(driver_function, cuEventRecord);
ASKED(driver_function, cuEventRecord_ptsz);
ASKED(driver_function, cuEventQuery);
ASKED(driver_function, cuStreamIsCapturing);
ASKED(driver_function, cuStreamIsCapturing_ptsz);
ASKED(driver_function, cuStreamGetCtx);
ASKED(driver_function, cuStreamGetCtx_v2);
ASKED(driver_function, cuStreamGetFlags);
ASKED(driver_function, cuThreadExchangeStreamCaptureMode);

// A capture may begin on another thread at any moment, and would be spoiled by a query: whether one is under
// way is no question to ask before. The mode is the thread's own.
class InRelaxedMode {
  public:
    InRelaxedMode() : exchange_(asked_cuThreadExchangeStreamCaptureMode.get()) {
        relaxed_ = answers(Question::cuThreadExchangeStreamCaptureMode, exchange_, &mode_);
    }
    ~InRelaxedMode() {
        if (relaxed_) exchange_(&mode_);
    }
    InRelaxedMode(const InRelaxedMode&) = delete;
    InRelaxedMode& operator=(const InRelaxedMode&) = delete;
    explicit operator bool() const { return relaxed_; }

  private:
    decltype(&::cuThreadExchangeStreamCaptureMode) exchange_;
    CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
    bool relaxed_;
};

}  // namespace

CUresult record_event(CUevent event, CUstream stream, bool per_thread) {
    auto* record = per_thread ? asked_cuEventRecord_ptsz.get() : asked_cuEventRecord.get();
    return record != nullptr ? record(event, stream) : CUDA_ERROR_NOT_FOUND;
}

bool takes_events(CUstream stream, bool per_thread) {
    auto* ask = per_thread ? asked_cuStreamIsCapturing_ptsz.get() : asked_cuStreamIsCapturing.get();
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return answers(Question::cuStreamIsCapturing, ask, stream, &status) &&
           status == CU_STREAM_CAPTURE_STATUS_NONE;
}

CUresult ask_event(CUevent event) {
    auto* query = asked_cuEventQuery.get();
    const InRelaxedMode relaxed;
    return query != nullptr && relaxed ? query(event) : CUDA_SUCCESS;
}

CUcontext context_of_stream(CUstream stream, bool& green) {
    CUcontext context = nullptr;
    CUgreenCtx green_context = nullptr;
    green = false;
    if (auto* ask = asked_cuStreamGetCtx_v2.get(); ask != nullptr) {
        if (!is_answered(Question::cuStreamGetCtx, ask(stream, &context, &green_context))) return nullptr;
        green = green_context != nullptr;
        return context;
    }
    auto* ask = asked_cuStreamGetCtx.get();
    return answers(Question::cuStreamGetCtx, ask, stream, &context) ? context : nullptr;
}

bool is_non_blocking(CUstream stream) {
    auto* ask = asked_cuStreamGetFlags.get();
    unsigned flags = 0;
    return answers(Question::cuStreamGetFlags, ask, stream, &flags) && (flags & CU_STREAM_NON_BLOCKING) != 0;
}

}  // namespace gpushim::shim
