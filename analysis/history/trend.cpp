#include "trend.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace gpushim::analysis {

namespace {

constexpr double kPerDeviation = 1.4826;  // of a normal distribution, standard deviation over MAD
constexpr double kDeviations = 3;
constexpr double kSure = 2.3263;  // 99 % of a normal distribution lie below

double median_of(std::vector<double> values) {
    const size_t half = values.size() / 2;
    std::sort(values.begin(), values.end());
    return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::vector<double> copy_of(std::span<const double> levels) { return {levels.begin(), levels.end()}; }

double deviations_of(std::span<const double> levels) {
    const double middle = median_of(copy_of(levels));
    double sum = 0;
    for (const double level : levels) sum += std::fabs(level - middle);
    return sum;
}

}  // namespace

std::optional<Band> band_of(std::span<const double> levels, double least_share) {
    if (levels.size() < kFewestForBand) return {};
    const double middle = median_of(copy_of(levels));
    std::vector<double> off;
    for (const double level : levels) off.push_back(std::fabs(level - middle));
    const double half = std::max(kDeviations * kPerDeviation * median_of(off), least_share * middle);
    return Band{middle, middle - half, middle + half};
}

std::optional<double> creep_of(std::span<const double> levels) {
    if (levels.size() < kFewestForCreep) return {};
    std::vector<double> slopes;
    double score = 0;
    for (size_t i = 0; i < levels.size(); ++i)
        for (size_t j = i + 1; j < levels.size(); ++j) {
            score += levels[j] > levels[i] ? 1 : levels[j] < levels[i] ? -1 : 0;
            slopes.push_back((levels[j] - levels[i]) / static_cast<double>(j - i));
        }
    const auto n = static_cast<double>(levels.size());
    const double deviation = std::sqrt(n * (n - 1) * (2 * n + 5) / 18);
    if ((score - 1) / deviation < kSure) return {};
    const double rise = median_of(slopes) * (n - 1);
    return rise / (median_of(copy_of(levels)) - rise / 2);
}

std::optional<size_t> rise_in(std::span<const double> levels) {
    std::optional<size_t> best;
    double least = 0;
    for (size_t at = 1; at < levels.size(); ++at) {
        const auto before = levels.first(at), behind = levels.subspan(at);
        if (median_of(copy_of(behind)) <= median_of(copy_of(before))) continue;
        const double off = deviations_of(before) + deviations_of(behind);
        if (!best || off < least) best = at, least = off;
    }
    return best;
}

}  // namespace gpushim::analysis
