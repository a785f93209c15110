// What CUPTI calls, on the program's threads and on its own: which number it gave to the driver call that is
// under way, room for its records, full room back. Promise: no lock, no allocation, no
// system call; where no room is left CUPTI drops records, and counts them. Any thread.
//
//   program's thread    forget_correlation ── real call (on_driver_call) ── correlation
//   CUPTI's             on_buffer_requested ── records ── on_buffer_completed
//   driver's thread     take_completed ── read ── give_back
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "cupti_api.h"

namespace gpushim::shim {

// --- which records are a call's ----------------------------------------------------------------------------
// CUPTI numbers driver calls itself, and its records carry the number, whichever of driver and runtime the
// program called (so its header says). A callback at the call's begin, on the thread that makes it, tells it.
// Rejected: external correlation numbers, which need CUPTI's records of driver calls as well, two more
// records of each call and two more calls into CUPTI.

extern thread_local constinit uint32_t cupti_correlation __attribute__((tls_model("initial-exec")));

inline void forget_correlation() { cupti_correlation = 0; }
inline uint32_t correlation() { return cupti_correlation; }  // 0: no driver call since then

void on_driver_call(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void* data);

// --- room for records --------------------------------------------------------------------------------------

constexpr size_t kCuptiBufferBytes = 128 << 10;
constexpr uint32_t kCuptiBuffers = 256;

struct CompletedBuffer {
    uint8_t* buffer;  // null: there is none
    size_t bytes;     // of records
};

bool make_cupti_buffers();  // the driver's thread, once; false: no memory
CompletedBuffer take_completed();
void give_back(uint8_t* buffer);
// CUPTI gives a buffer back when it is full, or when all in it is over: where a queue never gets empty and
// calls are rare, a large one comes late. So many at most from now on, while the queue is not deep; 0: as
// many as fit.
void limit_records(size_t most);

void on_buffer_requested(uint8_t** buffer, size_t* bytes, size_t* records);
void on_buffer_completed(CUcontext, uint32_t, uint8_t* buffer, size_t size, size_t valid);

}  // namespace gpushim::shim
