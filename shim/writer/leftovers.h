// What dead processes of this user have left in tmpfs: ended by `_exit` or killed, they empty no rings. Who
// may look: any process, one thread.
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

// Of dead processes, the oldest first. Never looked into is the folder `own`: who closes a file gives up the
// lock that it has on that. Throws.
std::vector<Leftover> leftovers_in(int user_folder, std::string_view own);

// Whether whoever holds the lock is not the process whose rings these are: a recovery.
bool is_recovered_by_another(int trace_folder);

}  // namespace gpushim::shim
