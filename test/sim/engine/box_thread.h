// The box's own threads, as a driver has them: all signals blocked, detached, named, none in a process that
// never needs one. And the word they sleep on: a futex, so that a cancelled waiter leaves nothing locked
// behind.
#pragma once

#include <atomic>
#include <cstdint>

#include "clock.h"

namespace gpusim {

// True. (A value, so that a function-local static can start a thread once.)
bool start_box_thread(const char* name, void (*run)());

class WakeWord {
  public:
    uint32_t value() const { return word_.load(std::memory_order_acquire); }
    void wake();
    // Returns at once if the word is no longer `seen`. Real time, in both clock modes; 0: no limit.
    void wait(uint32_t seen, Ns at_most_ns = 0);

  private:
    std::atomic<uint32_t> word_{0};
    std::atomic<uint32_t> waiters_{0};
};

}  // namespace gpusim
