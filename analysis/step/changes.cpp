#include "changes.h"

#include <algorithm>
#include <cmath>

namespace gpushim::analysis {

namespace {

// The place of a change was chosen among many, so its bounds have to be kept by more.
constexpr double kSurely = 2.5, kSurelyOfFew = 10;
constexpr double kMatters = 0.05;    // of the median before
constexpr double kLikely = 4.0;      // standard errors; below that, bounds are not worth their time
constexpr size_t kFewestToTell = 7;  // blocks on either side: of fewer, how they vary is hardly known
constexpr int kFinest = 3;           // a change that another one undoes shows in a half or a quarter only

struct Between {
    size_t from, to;
    size_t size() const { return to - from; }
};

struct Split {
    size_t at = 0;      // steps before it
    double apart = -1;  // standard errors, if steps were independent
};

// Where the steps before it are most above what the run as a whole is, by ranks about the median, or below.
Split best_split(std::span<const int64_t> lengths_ns) {
    const double median = median_of(lengths_ns);
    const auto n = static_cast<double>(lengths_ns.size());
    const auto side = [median](int64_t ns) {
        const auto length_ns = static_cast<double>(ns);
        return length_ns > median ? 1.0 : length_ns < median ? -1.0 : 0.0;
    };
    double all = 0, sum = 0;  // many steps may be the median: sides need not add up to 0
    for (const int64_t ns : lengths_ns) all += side(ns);
    Split best;
    for (size_t i = 0; i + kFewestAroundChange < lengths_ns.size(); ++i) {
        sum += side(lengths_ns[i]);
        const auto before = static_cast<double>(i + 1);
        const double apart = std::abs(sum - all * before / n) / std::sqrt(before * (n - before) / n);
        if (i + 1 >= kFewestAroundChange && apart > best.apart) best = {i + 1, apart};
    }
    return best;
}

bool is_change(const MedianShift& shift) {
    const double half_ns = (shift.high_ns - shift.low_ns) / 2, by_ns = std::abs(shift.shift_ns());
    const double times = shift.blocks >= kFewestToTell ? kSurely : kSurelyOfFew;
    return by_ns >= kMatters * shift.base_ns && by_ns > times * half_ns;
}

// What is far below what matters would make steps look alike, or unlike, that are the same: clocks round.
std::vector<int64_t> rounded(std::span<const int64_t> lengths_ns) {
    constexpr double kGrain = kMatters / 10;
    const auto grain_ns = std::max<int64_t>(1, static_cast<int64_t>(kGrain * median_of(lengths_ns)));
    std::vector<int64_t> result;
    for (const int64_t length_ns : lengths_ns)
        result.push_back((length_ns + grain_ns / 2) / grain_ns * grain_ns);
    return result;
}

// Neighbours are alike: n steps say as much as n / memory that are not.
bool is_likely(std::span<const int64_t> before, std::span<const int64_t> after, double apart) {
    const double base_ns = median_of(before);
    if (std::abs(median_of(after) - base_ns) < kMatters * base_ns) return false;
    return apart > kLikely * std::sqrt(std::max(memory_of(before), memory_of(after)));
}

std::optional<size_t> change_in(std::span<const int64_t> lengths_ns, Between between) {
    if (between.size() < 2 * kFewestAroundChange) return {};
    const auto part = lengths_ns.subspan(between.from, between.size());
    const Split split = best_split(part);
    const auto before = part.first(split.at), after = part.subspan(split.at);
    if (!is_likely(before, after, split.apart)) return {};
    const auto shift = shift_of(before, after);
    if (!shift || !is_change(*shift)) return {};
    return between.from + split.at;
}

// In the whole, else in parts of it that overlap by a half, ever smaller.
std::optional<size_t> any_change_in(std::span<const int64_t> lengths_ns, Between between) {
    for (int parts = 1; parts <= 1 << kFinest; parts *= 2) {
        const size_t half = between.size() / static_cast<size_t>(2 * parts);
        for (size_t from = between.from; from + 2 * half <= between.to && half > 0; from += half)
            if (const auto at = change_in(lengths_ns, {from, from + 2 * half})) return at;
    }
    return {};
}

// What lies between two changes tells of both again: one that was found first had others on its sides.
std::vector<StepChange> measured(std::span<const int64_t> lengths_ns, const std::vector<size_t>& at) {
    std::vector<StepChange> changes;
    for (size_t i = 0; i < at.size(); ++i) {
        const size_t from = i == 0 ? 0 : at[i - 1], to = i + 1 < at.size() ? at[i + 1] : lengths_ns.size();
        const auto shift =
            shift_of(lengths_ns.subspan(from, at[i] - from), lengths_ns.subspan(at[i], to - at[i]));
        if (shift && is_change(*shift)) changes.push_back({at[i], *shift});
    }
    return changes;
}

}  // namespace

std::vector<StepChange> find_changes(std::span<const int64_t> lengths_ns) {
    const std::vector<int64_t> coarse = rounded(lengths_ns);
    std::vector<size_t> at;
    std::vector<Between> left = {{0, lengths_ns.size()}};
    while (!left.empty() && at.size() < kMostChanges) {
        const Between between = left.front();
        left.erase(left.begin());
        const auto change = any_change_in(coarse, between);
        if (!change) continue;
        at.push_back(*change);
        left.push_back({between.from, *change});
        left.push_back({*change, between.to});
    }
    std::sort(at.begin(), at.end());
    return measured(lengths_ns, at);
}

}  // namespace gpushim::analysis
