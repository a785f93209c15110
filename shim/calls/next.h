// Names by the objects after ours, without libc: dlsym itself may be what is asked for. Any thread.
#pragma once

namespace gpushim::shim {

// The row of an exported name, or -1.
int hooked_name(const char* name);

// The first definitions of dlsym and dlvsym after ours.
void* next_dlsym();
void* next_dlvsym();

}  // namespace gpushim::shim
