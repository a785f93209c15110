// What the box makes of the code that a program loads. PTX text is read for its kernels, their parameters and
// its globals; any other image is taken to hold every name. No code is executed: a kernel takes its time, no
// more.
#pragma once

#include <memory>
#include <string_view>

#include "objects.h"

namespace gpusim::driver {

// `data`: what cuModuleLoadData takes. Null where it is PTX text that cannot be understood.
std::shared_ptr<const Image> read_image(const void* data);
std::shared_ptr<const Image> read_ptx(std::string_view text);

// How long a kernel of this name runs: GPUSIM_DURATIONS or `…__<N>us` or `…__<N>ns` say it, else
// GPUSIM_KERNEL_US.
Ns duration_by_name(std::string_view name);
// The asynchronous error that it ends in: `…__fault<N>…` (a CUresult), else 0.
int fault_by_name(std::string_view name);

}  // namespace gpusim::driver
