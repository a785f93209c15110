// How long nothing has moved in a process while one of its threads is inside a call that waits, and whether
// that is a hang: when it took as long as GPUSHIM_HANG_AFTER, kTimesUsual times what such waits take on
// average, and kTimesLongest times the longest until now.
//
//   moves    |  |  |  |                        |  |
//   waits           ==    =======================          a wait; without one (a checkpoint) nothing counts
//   said                             ^ hangs   ^ goes on
//
// Time counts only as far as it was looked on: where the process was stopped, or the writer was held up by a
// slow disk, the clock jumps between two looks, and that is no wait. Pure; one thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include "../base/time_units.h"

namespace gpushim::shim {

class Silence {
  public:
    static constexpr int64_t kTimesUsual = 10, kTimesLongest = 2;
    static constexpr int kFewWaits = 16;  // one that was long is not usual
    // From one look to the next: an eighth of the shortest hang, within bounds, so that no one jump makes
    // one.
    static constexpr int64_t kLeastPassedNs = 1'500 * kMillisecond, kMostPassedNs = 5'000 * kMillisecond;

    explicit Silence(int64_t least_ns) : least_ns_(least_ns) {}

    struct Seen {
        int64_t now_ns;
        bool has_moved;  // since the last look: an operation, a step, a wait that is over
        bool waits;      // some thread is inside a call that waits
    };
    enum class Said : uint8_t { nothing, hangs, goes_on };
    Said look(const Seen& seen);
    // What was called a hang is none: it is counted from here on.
    void forget_alarm() {
        for_ns_ = 0;
        has_said_ = false;
    }

    bool has_said() const { return has_said_; }  // that it hangs, and not yet that it goes on
    int64_t for_ns() const { return for_ns_; }
    int64_t before_ns() const { return before_ns_; }  // of the wait that ended last
    // 0: too few waits were long enough to be seen twice.
    int64_t usual_ns() const { return waits_ < kFewWaits ? 0 : usual_ns_; }
    int64_t limit_ns() const;

  private:
    void end();

    const int64_t least_ns_;
    const int64_t most_passed_ns_ = std::clamp(least_ns_ / 8, kLeastPassedNs, kMostPassedNs);
    int64_t looked_ns_ = INT64_MIN;
    int64_t for_ns_ = 0, before_ns_ = 0, usual_ns_ = 0, longest_ns_ = 0;
    int waits_ = 0;  // up to kFewWaits
    bool has_said_ = false;
};

}  // namespace gpushim::shim
