// What a running process is doing, for `gpushim doctor --pid`: out of the traces that it and the other ranks
// of its run write, out of its rings, and by the kernel. Nothing of it is touched.
#pragma once

#include <cstdint>
#include <string>

namespace gpushim::analysis {

// Prints it. The exit code: 1 if the run hangs, 3 if that cannot be told. Throws Failure where the process is
// none, or is not traced.
int look_at_process(const std::string& pid, bool as_json);

// What to tell a person who asks about a process that writes no trace.
std::string why_not_traced(int64_t pid);

}  // namespace gpushim::analysis
