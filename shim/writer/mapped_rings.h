// Whether a living process still has a trace's rings in its memory. It may have lost the lock that says so
// first: the kernel takes it away when the process closes the file by its number, and when the first of its
// threads is killed while others still run. Any process, any thread.
#pragma once

#include <cstdint>

namespace gpushim::shim {

// trace_folder: its name, the trace's identity. False also for a process that we may not look at, or that
// another container has: of these the lock alone says it.
bool has_rings_mapped(int32_t pid, const char* trace_folder);

}  // namespace gpushim::shim
