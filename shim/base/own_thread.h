// Threads of ours in the program: detached, deaf to signals, with a small stack of their own, and not for a
// sanitizer to judge. Whoever starts one is not a hot path: it allocates, as threads do.
#pragma once

#include <cstddef>

namespace gpushim::shim {

// Driver, NVML and CUPTI run on some of them, and nobody says what that takes. Unused it is not memory.
constexpr std::size_t kOwnStackBytes = 4 << 20;

struct OwnThread {
    const char* name;  // the kernel shows 15 characters
    void (*main)(void*);
    void* argument = nullptr;
    std::size_t stack_bytes = kOwnStackBytes;
};

// 0, or why it did not start (errno's numbers).
int start_own_thread(const OwnThread& thread);

// Whether one of them, other than the caller, runs or waits for a processor: on a busy machine it looks as if
// it stood still and does not. Any thread; some 10 us for each of ours.
bool another_own_thread_is_runnable();
// Or waits for a disk: nothing that the caller could do would help it.
bool another_own_thread_is_at_work();

}  // namespace gpushim::shim
