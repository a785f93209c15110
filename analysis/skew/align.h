// By how much the clocks of two hosts differ, from the collectives in which both took part. Nobody leaves a
// barrier before everybody has come, whatever the network does, so every one of them bounds the offset hard:
//
//   host A   ──[s────────e]──          s_A <= e_B + offset     lower bound: last start of A - first end of B
//   host B   ────[s────e]────          s_B + offset <= e_A     upper bound: first end of A - last start of B
//
// The offset is what to add to B's times to have A's. It is let drift: a bound that is dt away is moved out
// by drift * dt, and the tightest of all moved bounds holds at each time. A line through the ends on both
// hosts says where in between the offset most likely is. Pure; any thread.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "../collective/match.h"

namespace gpushim::analysis {

// What one barrier says of two hosts, each by its own clock.
struct SharedBarrier {
    int64_t bytes;
    int64_t a_last_start_ns, a_first_end_ns, a_last_end_ns;
    int64_t b_last_start_ns, b_first_end_ns, b_last_end_ns;
};
// None: not a barrier, aborted, or not seen on both. Ranks that were not seen do no harm: a bound needs two.
std::optional<SharedBarrier> shared_barrier(const CollectiveInstance& instance,
                                            std::span<const int> host_of_rank, int host_a, int host_b);

struct ClockOffset {
    int64_t low_ns, high_ns;  // the true offset is in here
    int64_t point_ns;         // most likely

    // Half the width. A point that lies at a bound may be off by the whole of it.
    int64_t clock_error_ns() const { return (high_ns - low_ns + 1) / 2; }
};
// Offset from C to A, from those of B to A and of C to B.
ClockOffset chained(const ClockOffset& b_to_a, const ClockOffset& c_to_b);

// Crystals are within 50 ppm of their nominal frequency on either host. Clocks that are slewed faster need
// more.
constexpr int64_t kDriftPerMillion = 100;

class HostOffset {
  public:
    static HostOffset same_host() { return {}; }  // one clock: always 0
    explicit HostOffset(std::span<const SharedBarrier> barriers,
                        int64_t drift_per_million = kDriftPerMillion);

    // None: no bound on one of the sides, or bounds that contradict each other (a clock that was stepped, a
    // wrong match). Asked by B's clock.
    std::optional<ClockOffset> at(int64_t b_ns) const;

  private:
    struct Bound {
        int64_t b_ns, offset_ns;
    };
    struct Line {
        int64_t from_b_ns = 0;
        double offset_ns = 0, slope = 0;
    };
    HostOffset() = default;
    std::vector<Bound> tightened(std::vector<Bound> lows) const;
    std::optional<int64_t> low_at(const std::vector<Bound>& lows, int64_t b_ns) const;
    static Line line_through(std::span<const SharedBarrier> barriers);

    bool same_host_ = true;
    int64_t drift_per_million_ = 0;
    std::vector<Bound> lows_, negated_highs_;  // by time
    Line line_;
};

}  // namespace gpushim::analysis
