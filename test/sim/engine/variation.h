// How durations vary: the knobs' jitter (autocorrelated, from a seed), the slow rank and heat. Needs the
// engine's lock.
#pragma once

#include "clock.h"

namespace gpusim {

// A kernel of `ns` on `device` of this process; `copies` only jitter.
Ns vary_kernel(Ns ns, int device);
Ns vary_copy(Ns ns, int device);

}  // namespace gpusim
