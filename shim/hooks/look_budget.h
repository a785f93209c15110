// May the shim look at a graph once more? Looks take at most a hundredth of the time, all threads' together,
// but for what they may take at once: so that a program that updates a graph for each token pays no more than
// one that does it once. Any thread.
//
//   now − burst ──── free from ──── now        each look moves "free from" by a hundred times what it took;
//                                              while it lies ahead of now, none is taken
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace gpushim::shim {

class LookBudget {
  public:
    static constexpr uint64_t kPart = 100;  // one part in so many

    bool allows(uint64_t now) const { return free_from_.load(std::memory_order_relaxed) <= now; }

    // `at_once`: that long looks may take in a row, in ticks.
    void took(uint64_t ticks, uint64_t now, uint64_t at_once) {
        const uint64_t burst = at_once * kPart;
        const uint64_t earliest = now > burst ? now - burst : 0;
        uint64_t free_from = free_from_.load(std::memory_order_relaxed);
        while (!free_from_.compare_exchange_weak(free_from, std::max(free_from, earliest) + ticks * kPart,
                                                 std::memory_order_relaxed)) {
        }
    }

  private:
    std::atomic<uint64_t> free_from_ = 0;
};

}  // namespace gpushim::shim
