// What nearly every function of the box's NVML begins with: is the library in use, is the handle one of ours,
// is there room for the answer. Any thread.
#pragma once

#include <string>
#include <utility>

#include "api.h"
#include "engine/clock.h"

namespace gpusim::nvml {

bool initialised();

// The box's time as NVML sees it: in stepped mode, the furthest that any process of the box has come.
Ns box_now();
// The same moment on the calendar, as samples and field values carry it: microseconds since 1970.
unsigned long long calendar_us(Ns box_ns);

int device_count();
nvmlDevice_t handle_of(int index);
int index_of(nvmlDevice_t device);  // -1: not a handle

// Writes `text` with its end to `out`, which has room for `length`.
nvmlReturn_t answer_text(const std::string& text, char* out, unsigned length);

// *out = value(index of the device), after the usual checks.
template <class Out, class Value>
nvmlReturn_t answer(nvmlDevice_t device, Out* out, Value value) {
    const int index = index_of(device);
    if (index < 0 || out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *out = static_cast<Out>(value(index));
    return NVML_SUCCESS;
}

// The same for structures that say which version of them they are.
template <class Out, class Fill>
nvmlReturn_t answer_version(nvmlDevice_t device, Out* out, unsigned version, Fill fill) {
    const int index = index_of(device);
    if (index < 0 || out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (out->version != version) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    fill(index, *out);
    return NVML_SUCCESS;
}

// Lists: `give(i)` makes element i of `total`; `count` says how many there is room for, then how many there
// are.
template <class Out, class Give>
nvmlReturn_t answer_list(unsigned* count, Out* out, unsigned total, Give give) {
    if (count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    const unsigned room = std::exchange(*count, total);
    if (room < total) return NVML_ERROR_INSUFFICIENT_SIZE;
    if (out == nullptr && total > 0) return NVML_ERROR_INVALID_ARGUMENT;
    for (unsigned i = 0; i < total; ++i) out[i] = give(i);
    return NVML_SUCCESS;
}

}  // namespace gpusim::nvml
