// Which context a thread is in, where no call that we hook has said so: NVIDIA's runtime makes a device's
// primary context current in a way of its own. The thread asks the driver, and says in its ring what the
// number means that its next slots carry. The program's threads, and only while that is not known.
#pragma once

#include "../ring/process_state.h"

namespace gpushim::shim {

// Sets thread.context. It stays 0 where there is none, and where the ring has no room to say which one it is:
// then the next call asks again, so no slot carries a number that the trace cannot resolve.
[[gnu::noinline, gnu::cold]] void ask_for_context(ThreadState& thread);

}  // namespace gpushim::shim
