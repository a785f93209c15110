// When a device is too hot to run at its full clock (GPUSIM_HOT). Any thread.
#pragma once

namespace gpusim {

// The clock that heat leaves it, in MHz; 0: heat holds nothing back.
int held_mhz(int device);
// So many times as long kernels take by that.
double heat_factor(int device);

}  // namespace gpusim
