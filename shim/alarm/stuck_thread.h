// What can be told of a thread that does not get on, without touching it: its name, its state, where in the
// kernel it is blocked, and its frames, native and of Python. All of it is read from /proc and from memory:
// the thread gets no signal and is not traced, both of which make system calls that are under way return
// EINTR. What has moved while it was read is not told. The writer's thread only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "activity.h"

namespace gpushim::shim {

struct PythonLine {
    std::string file, function;
    int64_t line;  // kNull: not told
};

struct StuckThread {
    int32_t tid = 0;
    std::string name;
    const char* call = nullptr;        // null: it is in none
    int64_t call_ns;                   // kNull: not known, or in none
    char state = '?';                  // as the kernel has it
    const char* blocked_on = nullptr;  // as host_gap.class; null: it runs, or is not told
    std::string wchan;                 // empty: it runs, or the kernel does not say
    int64_t cpu_ns;                    // in its life; kNull: not to be read
    std::vector<std::string> native;   // file+offset, the innermost first; empty: it runs, or is not told
    bool is_native_whole = false;      // the last one is where the thread began
    std::vector<PythonLine> python;    // the innermost first; empty: none was read

    bool is_stopped() const { return state == 'T' || state == 't'; }
    bool is_gone() const { return state == '?' || state == 'Z' || state == 'X'; }
};

// Those inside of calls, at most kMostThreads, and the main thread; who is gone is left out.
constexpr size_t kMostThreads = 16;
std::vector<StuckThread> look_at_stuck(const std::vector<WaitingCall>& calls, bool wants_python);

int64_t cpu_ns_of_thread(int32_t tid);  // kNull: not to be read

// Parts of it, for tests. Nanoseconds on a processor; where a blocked thread is (both 0: it runs, or is not
// told).
struct Where {
    uint64_t stack_pointer = 0, place = 0;
};
int64_t parse_cpu_ns(std::string_view schedstat);
Where parse_where(std::string_view syscall);

}  // namespace gpushim::shim
