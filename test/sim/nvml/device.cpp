#include "device.h"

#include <algorithm>
#include <cstring>

#include "engine/box_state.h"
#include "engine/knobs.h"

// What a handle points to; only its place in the row matters.
struct nvmlDevice_st {
    char nothing;
};

namespace gpusim::nvml {
namespace {

nvmlDevice_st devices[kMaxDevices];

}  // namespace

Ns box_now() {
    Ns now = clock::now();
    if (clock::stepped())
        box::each_process([&](const ProcessUse& p) { now = std::max<Ns>(now, p.now_ns.load()); });
    return now;
}

unsigned long long calendar_us(Ns box_ns) {
    return static_cast<unsigned long long>(box_ns + clock::calendar_ahead()) / 1000;
}

int device_count() { return static_cast<int>(std::min<int64_t>(knobs().devices, kMaxDevices)); }

nvmlDevice_t handle_of(int index) { return &devices[index]; }

int index_of(nvmlDevice_t device) {
    for (int i = 0; i < device_count(); ++i)
        if (device == &devices[i]) return i;
    return -1;
}

nvmlReturn_t answer_text(const std::string& text, char* out, unsigned length) {
    if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (length <= text.size()) return NVML_ERROR_INSUFFICIENT_SIZE;
    std::memcpy(out, text.c_str(), text.size() + 1);
    return NVML_SUCCESS;
}

}  // namespace gpusim::nvml
