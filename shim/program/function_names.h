// Names of functions, and which of them the ring has been told. Of those that were loaded before recording
// began: the writer sees a launch whose function it has no name for, and wishes for it; the next thread that
// launches that very function asks the driver, on the spot, so no stale handle is ever given to it. The
// answer is a `named` event with kNoApi.
#pragma once

#include <cstdint>

#include "../ring/process_state.h"

namespace gpushim::shim {

// What a function's handle is known to be. `any`: a launch takes either.
enum class FunctionHandle : uint8_t { function, kernel, any };

// Thunks of launches, after the call, where process_state->wanted is not 0. No allocation.
void answer_name(ThreadState& thread, uint64_t function);

// Asks without a wish: for a function that the driver has just named itself, and that nobody may launch.
void tell_name(ThreadState& thread, uint64_t function, FunctionHandle kind);

// Whether the name that it has now is told: by a call that gave it, or by us. No, if in doubt.
bool is_name_told(uint64_t function);
void name_is_told(uint64_t function);
void function_is_new(uint64_t function);  // whatever had that handle
void functions_may_be_gone();             // code was unloaded

// The writer's thread. False: too many wishes are open; ask again later.
bool wish_for_name(uint64_t function);

// The wishes of a process that this one was forked from.
void forget_wishes();

}  // namespace gpushim::shim
