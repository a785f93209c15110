#include "saved.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "../text/units.h"

namespace gpushim::analysis {

namespace {

double mean_of(std::span<const int64_t> values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

constexpr size_t kBlocks = 5;
constexpr double kWithin = 2.8;  // standard errors of so many blocks: in 95 of 100 cases

// Of the mean of steps, which may resemble those beside them, or come in turns: by blocks of them. At least
// two.
double standard_error(std::span<const int64_t> by_step) {
    const size_t length = std::max<size_t>(1, by_step.size() / kBlocks);
    const size_t blocks = by_step.size() / length;
    const double mean = mean_of(by_step.first(blocks * length));
    double squares = 0;
    for (size_t i = 0; i < blocks; ++i) {
        const double off = mean_of(by_step.subspan(i * length, length)) - mean;
        squares += off * off;
    }
    const auto count = static_cast<double>(blocks);
    return std::sqrt(squares / (count * (count - 1)));
}

}  // namespace

bool SavedPerStep::is_one_figure() const {
    return least_ns && 20 * (saved_ns - *least_ns) <= saved_ns && 20 * (most_ns - saved_ns) <= saved_ns;
}

std::string SavedPerStep::text() const {
    const auto words = [](int64_t ns) { return duration_text(static_cast<double>(ns)); };
    if (is_one_figure()) return words(saved_ns);
    return (least_ns.value_or(0) > 0 ? words(*least_ns) + " to " : "up to ") + words(most_ns);
}

SavedPerStep saved_per_step(std::span<const int64_t> by_step, int64_t at_most_ns, int64_t step_ns) {
    constexpr double kOff = 0.002;  // of a step: what our events cost, and latencies, are known no better
    const auto saved_ns = static_cast<int64_t>(std::llround(std::max(0.0, mean_of(by_step))));
    double off_ns = kOff * static_cast<double>(step_ns);
    if (by_step.size() > 1) off_ns += kWithin * standard_error(by_step);
    const auto by_ns = static_cast<int64_t>(std::llround(off_ns));
    return {saved_ns, std::max<int64_t>(0, saved_ns - by_ns), std::max(at_most_ns, saved_ns + by_ns)};
}

}  // namespace gpushim::analysis
