// The thread on which we call the driver. It shares the program's descriptors, for the driver keeps files
// open and the writer has a table of its own (descriptors.h); and a driver that makes us wait does not make
// the rings wait. It does one piece of work at a time, and nothing while there is none. Hooks pass its calls
// on unseen. A fork waits until it is out of its work, at most 20 ms, and it begins none meanwhile.
#pragma once

#include <cstdint>

namespace gpushim::shim {

// On a thread that has the program's descriptors, before there is work. Without it (no memory, no thread) no
// work is ever done.
void start_driver_thread();

// The writer's thread. Work is given only to an idle one; false: there is none, or it is busy.
bool give_to_driver_thread(void (*work)(void*), void* argument);
// Whether the last work is done: after at most so long, or `most_ns` if the thread is only short of a
// processor. False at once where it ended for want of memory.
struct Patience {
    int64_t standstill_ns;
    int64_t most_ns;
};
bool wait_for_driver_thread(Patience patience);
void stop_driver_thread();

}  // namespace gpushim::shim
