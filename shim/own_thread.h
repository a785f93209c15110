// Threads of ours in the program: detached, deaf to signals, with a small stack of their own. Whoever starts
// one is not a hot path: it allocates, as threads do.
#pragma once

namespace gpushim::shim {

// 0, or why it did not start (errno's numbers).
int start_own_thread(void* (*main)(void*), void* argument);

}  // namespace gpushim::shim
