// Of what a device's stamps are multiples: some count in steps of 32 ns, some of 1,024. Found by differences
// between stamps: the largest step of which all that were seen are multiples. Pure.
#pragma once

#include <cstdint>
#include <span>

namespace gpushim::shim {

class ClockGrain {
  public:
    // `rounding_ns`: by so much the difference itself may be off.
    void saw(double difference_ns, double rounding_ns);
    int64_t ns() const;     // 0: less than can be told, or too little was seen
    bool is_known() const;  // which of these

    // The middle one of spans that should be the same; where they are multiples of a grain, the mean of those
    // within one of it, which lies between two of them.
    int64_t usual(std::span<const int64_t> sorted) const;

  private:
    static constexpr int64_t kSteps[] = {1'024, 512, 256, 128, 64, 32};
    static constexpr int kCount = sizeof kSteps / sizeof *kSteps;
    static constexpr int kEnough = 6;
    int seen_[kCount] = {};
    bool is_refuted_[kCount] = {};
};

}  // namespace gpushim::shim
