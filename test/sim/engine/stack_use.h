// A driver needs a stack, and nobody says how much: as much of the caller's as GPUSIM_STACK_KB says is used.
// Any thread.
#pragma once

namespace gpusim {

// Called where a call enters a library of the box. A stack that is smaller ends the process, as it would
// there.
void use_stack();

}  // namespace gpusim
