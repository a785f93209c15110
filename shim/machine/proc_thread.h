// What a thread of this process is doing, by /proc: a system call that it is blocked in says on what. Costs
// some 10 us. The writer's thread; parse_* any.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "../rows/host_samples.h"

namespace gpushim::shim {

// As the kernel tells the system call of a thread. A page fault is none.
struct InSyscall {
    bool running;
    long number;  // -1: blocked, but not in a system call
};
std::optional<InSyscall> parse_syscall(std::string_view text);
// R, S, D, …; '?': not to be read.
char parse_state(std::string_view stat);
// Nanoseconds that it was ready to run and had no CPU; kNull: not to be read.
int64_t parse_runqueue_ns(std::string_view schedstat);

// The address that a blocked thread waits at; 0: it waits at none, or runs. nullopt: the kernel does not say.
std::optional<uint64_t> parse_futex(std::string_view syscall);
std::optional<uint64_t> futex_of_thread(int32_t tid);

// What a thread in that state is blocked on.
HostClass class_of(long syscall, char state);

// A file of /proc/self/task/TID, as much as fits; empty: it is gone, or not to be read.
std::string_view read_of_thread(int32_t tid, const char* name, char (&to)[1024]);

// nullopt: it is gone, or /proc does not say. `mono_ns` of the sample is the caller's.
std::optional<HostSample> look_at_thread(int32_t tid);

}  // namespace gpushim::shim
