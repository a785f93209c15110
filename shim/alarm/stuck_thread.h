// What can be told of a thread that does not get on, without touching it: its name, its state, where in the
// kernel and in which library it is blocked, and its lines of Python. All of it is read from /proc and from
// memory; the thread gets no signal and is not traced, so no call of it ends early.
//
// Native frames but the innermost are not told: unwinding needs registers, which only a signal or ptrace
// gives, and both make system calls that are under way return EINTR. The writer's thread only.
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
    std::string native;                // file+offset; empty: it runs, or the kernel does not say
    std::vector<PythonLine> python;    // the innermost first; empty: none was read

    bool is_stopped() const { return state == 'T' || state == 't'; }
    bool is_gone() const { return state == '?' || state == 'Z' || state == 'X'; }
};

// Those inside of calls, at most kMostThreads, and the main thread; who is gone is left out.
constexpr size_t kMostThreads = 16;
std::vector<StuckThread> look_at_stuck(const std::vector<WaitingCall>& calls, bool wants_python);

int64_t cpu_ns_of_thread(int32_t tid);  // kNull: not to be read

// Parts of it, for tests. Nanoseconds on a processor; where a blocked thread is (0: it runs, or is not told);
// the line of /proc/PID/maps that holds an address, as file+offset.
int64_t parse_cpu_ns(std::string_view schedstat);
uint64_t parse_place(std::string_view syscall);
std::string place_in(std::string_view maps_line, uint64_t address);

}  // namespace gpushim::shim
