// What the threads of another process are doing, as the kernel tells. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gpushim::analysis {

struct ThreadNow {
    int64_t tid;
    std::string name;
    std::string state;       // "running", "waits", "waits for a disk", "stopped", "has ended"
    std::string blocked_in;  // a function of the kernel; empty: in none, or it may not be told
};
// Empty: there is no such process.
std::vector<ThreadNow> threads_of(int64_t pid);

// Of the processes that there are, that one and those that descend from it.
std::vector<int64_t> family_of(int64_t pid);

bool has_mapped(int64_t pid, const std::string& file_name);
std::string command_of(int64_t pid);  // with its words; empty: not to be read

}  // namespace gpushim::analysis
