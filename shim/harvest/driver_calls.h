// The driver's functions that reading device times takes, past every hook. Looked up once; the
// driver's thread (driver_thread.h) only, and only while driver_usable().
#pragma once

#include "../calls/driver_api.h"

namespace gpushim::shim {

#define GPUSHIM_DRIVER_CALLS(CALL)          \
    CALL(cuCtxPushCurrent_v2)               \
    CALL(cuCtxPopCurrent_v2)                \
    CALL(cuCtxGetDevice)                    \
    CALL(cuThreadExchangeStreamCaptureMode) \
    CALL(cuStreamCreate)                    \
    CALL(cuStreamIsCapturing)               \
    CALL(cuEventCreate)                     \
    CALL(cuEventRecord)                     \
    CALL(cuEventQuery)                      \
    CALL(cuEventElapsedTime)

struct DriverCalls {
#define GPUSHIM_POINTER(name) decltype(&::name) name;
    GPUSHIM_DRIVER_CALLS(GPUSHIM_POINTER)
#undef GPUSHIM_POINTER
};

// Null: the driver lacks one of them: the first that is missing.
const DriverCalls* driver_calls();
const char* missing_driver_call();

}  // namespace gpushim::shim
