// What went wrong with a device: nothing does, on the box, but clocks can be held back (GPUSIM_THROTTLE).
#pragma once

#include "api.h"

namespace gpusim::nvml {

// How long clocks were held back by that policy: all the time that the device was busy, where the knob says
// so.
unsigned long long violation_ns(int device, nvmlPerfPolicyType_t policy);

}  // namespace gpusim::nvml
