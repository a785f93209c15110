// The box's time. Real: CLOCK_MONOTONIC. Stepped: virtual nanoseconds that only the program's own calls,
// waits and `gpusim_advance_ns` move, so a program and a seed give the same times on every machine. Any
// thread, no lock.
#pragma once

#include <cstdint>

namespace gpusim {

using Ns = int64_t;

namespace clock {

bool stepped();
Ns now();

// Stepped: whether the calling thread has time of its own (a recorder's thread, named "gpushim"): its calls
// and waits move no other's.
bool beside_program();

// The calling thread works until `end`: it spins (real) or time moves there (stepped).
void work_until(Ns end);

// The calling thread is blocked until `end`: it sleeps (real) or time moves there (stepped).
void sleep_until(Ns end);

// Stepped: what now() is to the calling thread, whatever the others'; 0 ends. Real: nothing.
void show(Ns at);

// What the device's own clock shows at host time `host`: drift and jump are the knobs'.
double device_ns(Ns host);

// On a thread that runs a host function: its advances lengthen that function (`*into`), not the program. Null
// ends.
void collect_advances(Ns* into);

// What CLOCK_REALTIME is ahead of now().
Ns calendar_ahead();

// The moment the box was first used; what GPUSIM_CLOCK_JUMP_US counts from.
Ns origin();

}  // namespace clock
}  // namespace gpusim

extern "C" {
// Host work of `ns` nanoseconds: virtual in stepped mode, spun away in real mode. Workloads call it.
__attribute__((visibility("default"))) void gpusim_advance_ns(uint64_t ns);
// Present only in stepped mode (see hide_export.h): what recorders read in place of the machine's clocks.
__attribute__((visibility("default"))) void gpushim_test_clock(uint64_t* mono_ns, uint64_t* real_ns);
}
