#include "questions.h"

#include <nccl.h>

#include <atomic>

#include "asked.h"
#include "unanswered.h"

namespace gpushim::shim {
namespace {

ASKED(driver_function, cuDriverGetVersion);
ASKED(driver_function, cuCtxGetCurrent);
ASKED(driver_function, cuCtxGetDevice);
ASKED(driver_function, cuDevicePrimaryCtxGetState);
ASKED(driver_function, cuStreamIsCapturing);
ASKED(driver_function, cuStreamIsCapturing_ptsz);
ASKED(driver_function, cuStreamGetCaptureInfo_v2);
ASKED(driver_function, cuStreamGetCaptureInfo_v2_ptsz);
ASKED(driver_function, cuStreamGetCaptureInfo_v3);
ASKED(driver_function, cuStreamGetCaptureInfo_v3_ptsz);
ASKED(nccl_function, pncclCommUserRank);
ASKED(nccl_function, pncclCommCount);

struct CaptureInfo {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUgraph graph = nullptr;
    const CUgraphNode* nodes = nullptr;  // the driver's own list
    size_t count = 0;
};

// Which forms the driver lacks is found out once.
constinit std::atomic<bool> has_newer = true, has_older = true;

bool ask_newer(CUstream stream, bool per_thread, CaptureInfo& info) {
    auto* ask =
        per_thread ? asked_cuStreamGetCaptureInfo_v3_ptsz.get() : asked_cuStreamGetCaptureInfo_v3.get();
    has_newer.store(ask != nullptr, std::memory_order_relaxed);
    const CUgraphEdgeData* edges = nullptr;
    return ask != nullptr &&
           ask(stream, &info.status, nullptr, &info.graph, &info.nodes, &edges, &info.count) == CUDA_SUCCESS;
}

bool ask_older(CUstream stream, bool per_thread, CaptureInfo& info) {
    auto* ask =
        per_thread ? asked_cuStreamGetCaptureInfo_v2_ptsz.get() : asked_cuStreamGetCaptureInfo_v2.get();
    has_older.store(ask != nullptr, std::memory_order_relaxed);
    return ask != nullptr &&
           ask(stream, &info.status, nullptr, &info.graph, &info.nodes, &info.count) == CUDA_SUCCESS;
}

bool ask_for_info(CUstream stream, bool per_thread, CaptureInfo& info) {
    if (has_newer.load(std::memory_order_relaxed)) return ask_newer(stream, per_thread, info);
    return has_older.load(std::memory_order_relaxed) && ask_older(stream, per_thread, info);
}

}  // namespace

int driver_version() {
    auto* ask = asked_cuDriverGetVersion.get();
    int version = 0;
    return answers(Question::cuDriverGetVersion, ask, &version) ? version : 0;
}

CUcontext current_context() {
    auto* ask = asked_cuCtxGetCurrent.get();
    CUcontext context = nullptr;
    return answers(Question::cuCtxGetCurrent, ask, &context) ? context : nullptr;
}

int device_of_current_context() {
    auto* ask = asked_cuCtxGetDevice.get();
    CUdevice device = 0;
    return answers(Question::cuCtxGetDevice, ask, &device) ? device : -1;
}

bool primary_context_is_active(CUdevice device) {
    auto* ask = asked_cuDevicePrimaryCtxGetState.get();
    unsigned flags = 0;
    int active = 0;
    return answers(Question::cuDevicePrimaryCtxGetState, ask, device, &flags, &active) && active != 0;
}

bool is_capturing(CUstream stream, bool per_thread) {
    auto* ask = per_thread ? asked_cuStreamIsCapturing_ptsz.get() : asked_cuStreamIsCapturing.get();
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    return answers(Question::cuStreamIsCapturing, ask, stream, &status) &&
           status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

CaptureFront capture_front(CUstream stream, bool per_thread) {
    // The legacy stream captures nothing; what says no where others capture is known of one question only.
    const bool is_legacy = stream == CU_STREAM_LEGACY || (stream == nullptr && !per_thread);
    CaptureInfo info;
    if (is_legacy || !ask_for_info(stream, per_thread, info))
        return {is_capturing(stream, per_thread), nullptr, nullptr};
    if (info.status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return {false, nullptr, nullptr};
    return {true, info.graph, info.count == 1 ? info.nodes : nullptr};
}

uint64_t rank_and_ranks(ncclComm* communicator) {
    auto* ask_rank = asked_pncclCommUserRank.get();
    auto* ask_count = asked_pncclCommCount.get();
    int rank = 0, ranks = 0;
    if (ask_rank == nullptr || ask_count == nullptr || ask_rank(communicator, &rank) != ncclSuccess ||
        ask_count(communicator, &ranks) != ncclSuccess)
        return 0;
    return static_cast<uint32_t>(rank) | uint64_t{static_cast<uint32_t>(ranks)} << 32;
}

}  // namespace gpushim::shim
