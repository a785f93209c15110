// A stamp is not a kernel's begin or end: a device takes a moment from an event to the kernel behind it, and
// from a kernel to the event behind it. How long is known of devices that were calibrated (calibrated.def);
// for others it is taken to be what NVIDIA's documents and people's measurements leave possible, and bounds
// are called estimates. Who has measured them himself says so by GPUSHIM_STAMP_GAPS. Pure.
#pragma once

#include <cstdint>
#include <string_view>

#include "../base/config.h"

namespace gpushim::shim {

struct StampGaps {
    int64_t before_ns, before_high_ns;
    int64_t after_ns, after_high_ns;
    bool is_calibrated;
};

// What was given comes before what is known of the device's kind.
StampGaps stamp_gaps_of(std::string_view device_name, const StampGapsSetting& given = {});

}  // namespace gpushim::shim
