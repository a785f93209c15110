// What part of the run was asked for: GPUSHIM_STEPS, _SCHEDULE, _DELAY, _DURATION, _CAPTURE. Outside of it
// the process rests (ProcessState::doing): no operation is recorded, but objects' lives are. Steps are those
// that the program says itself. Any thread.
#pragma once

#include <cstdint>

#include "../base/config.h"
#include "../ring/process_state.h"

namespace gpushim::shim {

// When recording starts: whether what the configuration asks for begins at once (kRecording) or later
// (kResting).
Doing open_range(int64_t now_ns);

// The program says that a step begins (gpushim_step, a range of NVTX that is one; the first is number 1), or
// has turned its profiler on or off. Until the first step everything is recorded: a program may have none.
void step_begins();
void profiler_turned(bool on);

// gpushim.off is there, or gone again (switch_files.h). The writer.
void switched_off(bool off);

// The writer, in every pass. How long it is until time changes something.
int64_t time_passes(int64_t now_ns);

// Whether steps or a profiler decide what is recorded: then they decide what is timed, too, and not the slots
// of the clock.
bool is_range_asked();

// Whether a step is one of those that were asked for.
bool is_wanted_step(const Ranges& steps, const Schedule& schedule, int64_t number);

// At the exit: a line about steps that were asked for and never marked.
void say_what_was_not_asked();

}  // namespace gpushim::shim
