// How a device fares: worked out from how busy it was in the box's recent past, and the knobs. Any thread.
#pragma once

#include "engine/clock.h"

namespace gpusim::nvml {

constexpr Ns kSamplePeriodNs = 1'000'000'000;

struct Condition {
    unsigned busy_percent = 0;
    unsigned copy_percent = 0;
    unsigned power_mw = 0;
    unsigned sm_mhz = 0;
    unsigned memory_mhz = 0;
    unsigned gpu_c = 0;
    unsigned memory_c = 0;
    unsigned long long throttle_reasons = 0;
};

// Over the `past_ns` before `now`.
Condition condition(int device, Ns now, Ns past_ns);
Condition condition(int device);  // over the last second

unsigned long long energy_mj(int device);

}  // namespace gpusim::nvml
