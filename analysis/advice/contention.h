// Idle time in which the thread that launches could run and had no processor: two rules ask, and only one may
// count it. One thread.
#pragma once

#include "situation.h"

namespace gpushim::analysis {

// Of a mean step that counts, on the GPU with most of it. From samples, so at least so much.
double contended_ns(const Situation& run);

}  // namespace gpushim::analysis
