// Whose rings lie in tmpfs: those of living processes of this user, and what dead ones have left (ended by
// `_exit` or killed, they empty no rings). Any process, one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpushim::shim {

struct Leftover {
    std::string name;   // of its folder
    std::string trace;  // where its process made it
    int64_t changed_ns;
    int64_t bytes;
};

// Removes what processes that are dead for more than a day have left; `own` as below. Throws.
void remove_old_folders(int user_folder, std::string_view own);

// Of dead processes, the oldest first. Never looked into is the folder `own`: who closes a file gives up the
// lock that it has on that. Throws.
std::vector<Leftover> leftovers_in(int user_folder, std::string_view own);

// What living processes of this user write at this moment, by process. Throws.
struct LiveTrace {
    int32_t pid;        // as seen from this process
    std::string trace;  // where it made it
};
std::vector<LiveTrace> live_traces_in(int user_folder);

// Whether its process lives, or somebody recovers it.
bool is_in_use(int trace_folder, const char* name);

// Whether its process lives, whatever became of its lock.
bool is_written_to(int trace_folder, const char* name);

// Whether whoever holds the lock is not the process whose rings these are: a recovery.
bool is_recovered_by_another(int trace_folder);

}  // namespace gpushim::shim
