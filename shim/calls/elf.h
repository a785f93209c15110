// Looking up exported names in loaded objects without the dynamic linker's own functions: those may not work
// yet when we are first asked, or may be somebody's hooks. Calls no function of libc; any thread, at any time
// after relocation.
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>

namespace gpushim::shim {

// The address of what the object exports under this name, or null.
void* exported_by(ElfW(Addr) base, const ElfW(Dyn) * dynamic, const char* name);

// The first definition of the name in the objects after ours, in the linker's order. Only for names whose
// objects were there at start-up (libc's): the list is walked without the linker's lock.
void* defined_after_us(const char* name);

// Whether the object that holds this address is before ours, and none between the two defines the name.
bool asks_past_nobody_but_us(const void* address, const char* name);

bool same_text(const char* a, const char* b);

}  // namespace gpushim::shim
