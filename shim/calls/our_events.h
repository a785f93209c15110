// What events of ours need of the driver, on the program's threads and past every hook. Nothing is made or
// waited for, and no capture minds any of it.
#pragma once

#include "driver_api.h"

namespace gpushim::shim {

CUresult record_event(CUevent event, CUstream stream, bool per_thread);

// Whether an event may be recorded there: not where a capture is under way or forbids to look.
bool takes_events(CUstream stream, bool per_thread);

// CUDA_ERROR_NOT_READY: what the event stands behind is not over. CUDA_SUCCESS also where it cannot be asked.
CUresult ask_event(CUevent event);

// Of a stream that the driver has just accepted. Null: not to be had. `green`: it gives no context to make
// events in.
CUcontext context_of_stream(CUstream stream, bool& green);

// The same; false also where it is not to be had.
bool is_non_blocking(CUstream stream);

}  // namespace gpushim::shim
