// Stream capture: streams that record their work into a graph instead of executing it, and what is forbidden
// meanwhile. All under engine::lock() unless it says otherwise.
#pragma once

#include "work.h"

namespace gpusim::driver {

class Capture;

namespace capture {

// The stream records: `work` becomes a node of the graph, after what the stream has recorded so far.
CUresult record(Stream& stream, Work work);

// cuEventRecord on / cuStreamWaitEvent by a stream, where the stream is being captured or the event was
// recorded in a capture (which the waiting stream then joins).
CUresult record_event(Stream& stream, Event& event);
CUresult wait_event(Stream& stream, Event& event);

// Whether using the legacy stream now is forbidden because a blocking stream of the context is being captured
// (CUDA_ERROR_STREAM_CAPTURE_IMPLICIT).
CUresult forbids_legacy(Context& context);

// A synchronising call on this stream: it ends the capture in error (STREAM_CAPTURE_UNSUPPORTED) while one
// runs.
CUresult forbids_sync(Stream& stream);

// For every export that the driver calls potentially unsafe (entry.cpp asks once per export, by base name) …
bool is_unsafe(const char* base_name);
// … whether the calling thread may call it now, by its own mode and all captures. Takes the lock.
CUresult forbids_unsafe_call();

}  // namespace capture
}  // namespace gpusim::driver
