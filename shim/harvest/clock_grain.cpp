#include "clock_grain.h"

#include <algorithm>
#include <cmath>

#include "../base/rounding.h"

namespace gpushim::shim {

void ClockGrain::saw(double difference_ns, double rounding_ns) {
    if (difference_ns == 0) return;
    for (int i = 0; i < kCount; ++i) {
        const auto step = static_cast<double>(kSteps[i]);
        if (is_refuted_[i] || rounding_ns > step / 8) continue;
        const double off =
            std::abs(difference_ns - static_cast<double>(rounded(difference_ns / step)) * step);
        if (off > rounding_ns + 1)
            is_refuted_[i] = true;
        else
            ++seen_[i];
    }
}

int64_t ClockGrain::ns() const {
    for (int i = 0; i < kCount; ++i)
        if (!is_refuted_[i] && seen_[i] >= kEnough) return kSteps[i];
    return 0;
}

bool ClockGrain::is_known() const {
    return ns() != 0 || std::ranges::all_of(is_refuted_, [](bool is_refuted) { return is_refuted; });
}

int64_t ClockGrain::usual(std::span<const int64_t> sorted) const {
    const int64_t middle = sorted[sorted.size() / 2], grain = ns();
    int64_t sum = 0, count = 0;
    for (const int64_t one : sorted) {
        if (one < middle - grain || one > middle + grain) continue;
        sum += one;
        ++count;
    }
    return grain == 0 ? middle : sum / count;
}

}  // namespace gpushim::shim
