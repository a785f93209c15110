// A device's clock on the host's. Anchors are events of ours whose stamp the host saw appear: it lies between
// the last look that found nothing and the first that found it. Between two anchors time is interpolated;
// what the device's clock does between them is not assumed but bounded:
//
//   host     [lo  hi]                        [lo  hi]        from the anchor before: at a plausible rate on
//   device     A ─────────── stamp ───────────── B           from the one after it: back at that rate
//
// The truth is in one of both intervals, also when the clock has jumped in between; where they disagree, the
// bounds are as wide as the disagreement. The rate is what all anchors agree on. Pure; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "../sqlite/rows.h"

namespace gpushim::shim {

// A moment on the host's clock.
struct Moments {
    int64_t low_ns;  // hard bounds
    int64_t ns;      // the estimate
    int64_t high_ns;
    int64_t likely_ns;  // the estimate is likely within this
};

class ClockModel {
  public:
    // Later than all before it. `device_ns` counts from the first anchor.
    void add(double device_ns, int64_t low_ns, int64_t high_ns);

    bool has_anchor() const { return !anchors_.empty(); }
    // Two anchors alone cannot tell a rate from a jump.
    bool is_settled() const { return anchors_.size() >= 3; }
    bool is_before_newest(double device_ns) const;
    Moments at(double device_ns) const;  // there is an anchor; one on either side, if it can be

    int64_t error_ns() const;   // half of what the newest anchor's interval is
    int64_t drift_ppb() const;  // how much faster the device's clock goes; kNull: not known yet
    int64_t residual_ns() const { return residual_ns_; }  // of the newest anchor; kNull: it is the first

  private:
    struct Anchor {
        double device_ns;
        int64_t low_ns;
        int64_t high_ns;
        double middle() const {
            return static_cast<double>(low_ns) + static_cast<double>(high_ns - low_ns) / 2;
        }
        double half() const { return static_cast<double>(high_ns - low_ns) / 2; }
    };
    struct Interval {
        double low;
        double high;
    };
    static Interval rate_between(const Anchor& a, const Anchor& b);
    Interval reach(const Anchor& from, double device_ns) const;
    void learn_rate(const Anchor& next);

    static constexpr size_t kMostAnchors = 1024;
    static constexpr double kWorstRate = 200e-6;  // how far clocks of such machines are apart
    std::deque<Anchor> anchors_;
    size_t steady_ = 0;                                 // so many of the newest follow one rate
    Interval rate_ = {1 - kWorstRate, 1 + kWorstRate};  // host ns per device ns
    int64_t residual_ns_ = kNull;
};

}  // namespace gpushim::shim
