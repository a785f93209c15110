// The driver's lock (GPUSIM_LOCK_NS): each call that asks something of a device holds it for so long, and
// waits while another thread's call does. Real time: in the order in which they ask. Stepped time: a call of
// the program waits for the one call of a recorder's thread that holds it at that time, by that thread's own
// clock; the program's calls do not meet each other there. Any thread.
#pragma once

#include "engine/clock.h"

namespace gpusim::driver {

// The calling thread waits for the lock and holds it: until when. Without the knob: `now`, at once.
Ns pass_lock(Ns now);

}  // namespace gpusim::driver
