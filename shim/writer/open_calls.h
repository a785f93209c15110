// What living processes are doing, out of their rings: nothing of them is touched, and they go on meanwhile.
// For `gpushim`, which loads the library for it. Any process but the traced one.
#pragma once

#include <cstdint>

extern "C" {

// Each trace that a living process of this user writes. 0: all were told; 1: it could not be looked.
typedef void gpushim_tell_trace(void* to, int pid, const char* trace);
int gpushim_live_traces(gpushim_tell_trace* tell, void* to);

// Of each thread of the process that writes this trace the outermost call that it is inside of: its name
// without suffixes, its kind as gpushim_hook has it. 0: all were told; 1: the process is gone, or its rings
// are private.
typedef void gpushim_tell_call(void* to, int tid, int64_t enter_ns, const char* name, const char* kind);
int gpushim_open_calls(const char* trace, gpushim_tell_call* tell, void* to);
}
