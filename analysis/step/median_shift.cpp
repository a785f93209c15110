#include "median_shift.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace gpushim::analysis {

namespace {

constexpr uint64_t kSeed = 20'260'101;
constexpr double kWorkOfDraws = 20e6;  // steps that are drawn in all
constexpr size_t kFewestDraws = 400, kMostDraws = 2000;
// A block holds so many memories: half of what its ends cut off would be too much, and of few blocks little
// can be said.
constexpr double kMemoriesPerBlock = 3;
constexpr double kNormal = 2.575829;  // 99 % of a normal distribution lie within

// The 99.5 % quantile of Student's t; within 2 % from 3 degrees of freedom on.
double student(double degrees) {
    const double z = kNormal, z2 = z * z, z3 = z2 * z, z5 = z3 * z2, z7 = z5 * z2;
    return z + (z3 + z) / (4 * degrees) + (5 * z5 + 16 * z3 + 3 * z) / (96 * degrees * degrees) +
           (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * degrees * degrees * degrees);
}

double middle_of(std::vector<int64_t>& values) {
    const auto half = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), half, values.end());
    const auto upper = static_cast<double>(*half);
    if (values.size() % 2 == 1) return upper;
    return (upper + static_cast<double>(*std::max_element(values.begin(), half))) / 2;
}

struct Spread {
    double error_ns = 0;  // standard error of the median
    size_t block = 0;
    double blocks = 0;
};

Spread spread_of(std::span<const int64_t> series) {
    const size_t n = series.size();
    const auto wanted = static_cast<size_t>(std::ceil(kMemoriesPerBlock * memory_of(series)));
    const size_t longest = std::max(kShortestBlock, n / kFewestBlocks);
    const size_t block = std::clamp(wanted, kShortestBlock, longest);
    const auto draws =
        std::clamp(static_cast<size_t>(kWorkOfDraws / static_cast<double>(n)), kFewestDraws, kMostDraws);
    std::mt19937_64 random(kSeed);
    std::vector<int64_t> drawn;
    double sum = 0, squares = 0;
    const double median = median_of(series);
    for (size_t draw = 0; draw < draws; ++draw) {
        drawn.clear();
        while (drawn.size() < n) {
            const size_t from = random() % n;
            for (size_t i = 0; i < block && drawn.size() < n; ++i) drawn.push_back(series[(from + i) % n]);
        }
        const double off = middle_of(drawn) - median;  // small numbers, whose squares keep their digits
        sum += off;
        squares += off * off;
    }
    const auto count = static_cast<double>(draws);
    const double blocks = static_cast<double>(n) / static_cast<double>(block);
    const double variance = std::max(0.0, (squares - sum * sum / count) / (count - 1));
    return {std::sqrt(variance * blocks / (blocks - 1)), block, blocks};
}

// Degrees of freedom of a difference (Welch, Satterthwaite).
double degrees_of(const Spread& a, const Spread& b) {
    const double of_a = a.error_ns * a.error_ns, of_b = b.error_ns * b.error_ns;
    if (of_a + of_b == 0) return std::min(a.blocks, b.blocks) - 1;
    return (of_a + of_b) * (of_a + of_b) / (of_a * of_a / (a.blocks - 1) + of_b * of_b / (b.blocks - 1));
}

}  // namespace

double median_of(std::span<const int64_t> lengths_ns) {
    std::vector<int64_t> values(lengths_ns.begin(), lengths_ns.end());
    return values.empty() ? 0 : middle_of(values);
}

// By signs, so that a single step that took a second does not hide what the others do. Summed until it is
// lost in noise.
double memory_of(std::span<const int64_t> lengths_ns) {
    const double median = median_of(lengths_ns);
    std::vector<int> side;
    double all = 0;
    for (const int64_t length_ns : lengths_ns) {
        const auto ns = static_cast<double>(length_ns);
        side.push_back(ns > median ? 1 : ns < median ? -1 : 0);
        all += std::abs(side.back());
    }
    if (all == 0) return 1;
    double memory = 1;
    const double noise = 2 / std::sqrt(all);
    for (size_t lag = 1; lag < side.size() / kFewestBlocks; ++lag) {
        double sum = 0;
        for (size_t i = lag; i < side.size(); ++i) sum += side[i] * side[i - lag];
        if (sum / all < noise) break;
        memory += 2 * sum / all;
    }
    return memory;
}

std::optional<MedianShift> shift_of(std::span<const int64_t> base_ns, std::span<const int64_t> new_ns) {
    if (std::min(base_ns.size(), new_ns.size()) < kFewestBlocks * kShortestBlock) return {};
    const Spread base = spread_of(base_ns), now = spread_of(new_ns);
    MedianShift shift{median_of(base_ns), median_of(new_ns), 0, 0, 0, 0};
    const double error_ns = std::hypot(base.error_ns, now.error_ns) * student(degrees_of(base, now));
    shift.low_ns = shift.shift_ns() - error_ns;
    shift.high_ns = shift.shift_ns() + error_ns;
    const Spread& fewer = base.blocks < now.blocks ? base : now;
    shift.blocks = static_cast<size_t>(fewer.blocks);
    shift.block = fewer.block;
    return shift;
}

std::optional<MedianShift> far_shift_of(std::span<const int64_t> base_ns, std::span<const int64_t> new_ns) {
    constexpr size_t kFewestSteps = 5;
    constexpr double kFar = 1.2;
    if (std::min(base_ns.size(), new_ns.size()) < kFewestSteps) return {};
    struct Range {
        double low, high;
    };
    const auto middle_of = [](std::span<const int64_t> lengths_ns) {
        std::vector<int64_t> sorted(lengths_ns.begin(), lengths_ns.end());
        std::sort(sorted.begin(), sorted.end());
        const size_t beyond = sorted.size() / 10;
        return Range{static_cast<double>(sorted[beyond]),
                     static_cast<double>(sorted[sorted.size() - 1 - beyond])};
    };
    const Range base = middle_of(base_ns), now = middle_of(new_ns);
    if (now.low < kFar * base.high && base.low < kFar * now.high) return {};
    return MedianShift{median_of(base_ns), median_of(new_ns), now.low - base.high, now.high - base.low, 0, 0};
}

}  // namespace gpushim::analysis
