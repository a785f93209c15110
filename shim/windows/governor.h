// How much of the time operations get events of ours: so much that the thread that pays most for us pays no
// more than the budget. Moves only how long the slots' windows are (Plan::open_ns) and which slots have one
// (every n-th), by the same arithmetic in all processes, so that their windows lie within each other. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace gpushim::shim {

constexpr int64_t kSlotNs = 10'000'000'000;

struct Plan {
    int64_t open_ns;
    int64_t every;  // slots whose number it divides have a window; a power of two
    double share() const { return static_cast<double>(open_ns) / static_cast<double>(kSlotNs * every); }
};

// What we take of a thread's time: always, and beside that while a window is open.
struct ThreadLoad {
    double always_share;
    double window_share;
};

class Governor {
  public:
    explicit Governor(double budget_share) : budget_share_(budget_share) {}

    // At the border of two slots. `loads`: measured lately, by thread; none: everything is timed.
    Plan decide(std::span<const ThreadLoad> loads);

    static Plan plan(size_t level);  // 0: all the time
    static constexpr size_t kLevels = 17;

  private:
    size_t level_within(std::span<const ThreadLoad> loads, double share) const;

    double budget_share_;
    size_t level_ = 0;
};

// The share of the busiest thread's time that a plan takes.
double share_taken(const Plan& plan, std::span<const ThreadLoad> loads);

}  // namespace gpushim::shim
