#include "questions.h"

#include <nccl.h>

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
ASKED(nccl_function, pncclCommUserRank);
ASKED(nccl_function, pncclCommCount);

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
