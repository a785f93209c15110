#include "sampled.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace gpushim::analysis {

namespace {

constexpr size_t kMostDraws = 4000, kFewestDraws = 400;
constexpr size_t kWorkOfDraws = 20'000'000;  // windows that are drawn in all
constexpr uint64_t kSeed = 20'260'101;

// The 97.5 % quantile of Student's t: exact for 1 and 2 degrees of freedom, within 0.5 % above.
double student(double degrees) {
    constexpr double kNormal = 1.959964;
    constexpr double kFirst[] = {12.706, 4.303, 3.182, 2.776, 2.571};
    if (degrees < 6) return kFirst[static_cast<size_t>(degrees) - 1];
    const double cubed = kNormal * kNormal * kNormal;
    return kNormal + (cubed + kNormal) / (4 * degrees) +
           (5 * cubed * kNormal * kNormal + 16 * cubed + 3 * kNormal) / (96 * degrees * degrees);
}

// What share of the draws lies beyond each end: of a normal distribution, beyond t · √(n / (n - 1)).
double tail_share(size_t windows) {
    const auto n = static_cast<double>(windows);
    return 0.5 * std::erfc(student(n - 1) * std::sqrt(n / (n - 1)) / std::sqrt(2.0));
}

// How far a ratio of independent windows strays. Of a handful a bootstrap can only draw what it has seen.
double stray(std::span<const PartOf> windows, double ratio) {
    double squares = 0, whole = 0;
    for (const PartOf& window : windows) {
        const double off = static_cast<double>(window.part_ns) - ratio * static_cast<double>(window.whole_ns);
        squares += off * off;
        whole += static_cast<double>(window.whole_ns);
    }
    const auto n = static_cast<double>(windows.size());
    return student(n - 1) * std::sqrt(squares * n / (n - 1)) / whole;
}

}  // namespace

std::optional<double> ratio_of(std::span<const PartOf> windows) {
    double part = 0, whole = 0;
    for (const PartOf& window : windows) {
        part += static_cast<double>(window.part_ns);
        whole += static_cast<double>(window.whole_ns);
    }
    return whole > 0 ? std::optional(part / whole) : std::nullopt;
}

std::optional<Range> sampling_range(std::span<const PartOf> windows) {
    if (windows.size() < 2 || !ratio_of(windows)) return {};
    std::mt19937_64 random(kSeed);
    std::vector<double> ratios;
    std::vector<PartOf> drawn(windows.size());
    const size_t draws = std::clamp(kWorkOfDraws / windows.size(), kFewestDraws, kMostDraws);
    for (size_t draw = 0; draw < draws; ++draw) {
        // Not a std:: distribution: each library draws its own way.
        for (PartOf& window : drawn) window = windows[random() % windows.size()];
        if (const auto ratio = ratio_of(drawn)) ratios.push_back(*ratio);
    }
    std::sort(ratios.begin(), ratios.end());
    const auto cut = static_cast<size_t>(tail_share(windows.size()) * static_cast<double>(ratios.size()));
    const double ratio = *ratio_of(windows), most = stray(windows, ratio);
    return Range{std::min(ratios[cut], ratio - most),
                 std::max(ratios[ratios.size() - 1 - cut], ratio + most)};
}

}  // namespace gpushim::analysis
