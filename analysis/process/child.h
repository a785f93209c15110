// Runs somebody else's program to its end as if it had been started in our place: the same terminal, signals
// passed on, stops and continues followed.
#pragma once

#include <map>
#include <span>
#include <string>

namespace gpushim::analysis {

// Returns the program's exit code. Where a signal ended it, the status is that of wait(2); see end_like.
// Throws Failure (127: not found; 126: not to be executed) when it cannot be started.
int run_child(std::span<char* const> command, const std::map<std::string, std::string>& variables);

// The exit code that a shell would show — but where a signal ended the child, ends this process by the same.
int end_like(int wait_status);

}  // namespace gpushim::analysis
