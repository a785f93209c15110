// What part of the run was asked for: GPUSHIM_STEPS, _SCHEDULE, _DELAY, _DURATION, _CAPTURE. Outside of it
// the process rests (Live::doing): no operation is recorded, but objects' lives are. Steps are those that the
// program says itself. Any thread.
#pragma once

#include <cstdint>

namespace gpushim::shim {

// When recording starts: what the configuration asks for.
void open_range();

// The program says that a step begins (gpushim_step, a range of NVTX that is one), or has turned its
// profiler on or off.
void step_begins();
void profiler_turned(bool on);

// The writer, in every pass: time.
void time_passes(int64_t mono_ns);

// Whether a range was asked for at all: then it decides what is timed, and not the slots of the clock.
bool is_range_asked();

}  // namespace gpushim::shim
