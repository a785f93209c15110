// What the doors hand out: the address of a hooked name's own entry in place of the original's, and only
// where the original is known for what it is. Anything else is handed out untouched, and counted.
#pragma once

#include "../calls/api.h"

namespace gpushim::shim {

extern "C" {
// Our own, wherever the public names are bound to.
__attribute__((visibility("hidden"))) void* gpushim_dlsym(void* handle, const char* name);
__attribute__((visibility("hidden"))) void* gpushim_dlvsym(void* handle, const char* name,
                                                           const char* version);
}

// Answers dlsym (version: null) or dlvsym for a hooked name and a real handle.
void* answer_look_up(ApiId api, void* handle, const char* name, const char* version, const void* caller);

// What to hand out for an address that was found for a row on behalf of `caller`.
void* swapped(ApiId api, void* found, const void* caller);

// The same for our own entry, which was found in place of what stands behind us by that name.
void* past_us(ApiId api, void* ours, const void* caller);

// proc_address.cpp: the same for what cuGetProcAddress found.
void* swapped_proc_address(const char* symbol, void* found, int version, uint64_t flags, const void* caller);

}  // namespace gpushim::shim
