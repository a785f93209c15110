// Time of a processor that samples may take: gathers with time, up to a little. One thread.
#pragma once

#include <algorithm>
#include <cstdint>

namespace gpushim::shim {

class Allowance {
  public:
    static constexpr double kShare = 0.002;
    static constexpr int64_t kMostNs = 2'000'000;

    explicit Allowance(double share = kShare) : share_(share) {}

    void passed(int64_t ns) {
        const double gathered = static_cast<double>(left_ns_) + static_cast<double>(ns) * share_;
        left_ns_ = static_cast<int64_t>(std::min(gathered, static_cast<double>(kMostNs)));
    }
    bool has_any() const { return left_ns_ > 0; }
    void spend(int64_t ns) { left_ns_ -= ns; }

  private:
    double share_;
    int64_t left_ns_ = kMostNs;
};

}  // namespace gpushim::shim
