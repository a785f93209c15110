// Threads of ours in the program: detached, deaf to signals, with a small stack of their own. Whoever starts
// one is not a hot path: it allocates, as threads do.
#pragma once

#include <cstddef>

namespace gpushim::shim {

constexpr std::size_t kOwnStackBytes = 512 * 1024;

// 0, or why it did not start (errno's numbers).
int start_own_thread(void* (*main)(void*), void* argument, std::size_t stack_bytes = kOwnStackBytes);

}  // namespace gpushim::shim
