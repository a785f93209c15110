#include "clock_model.h"

#include <algorithm>
#include <cmath>

#include "../base/rounding.h"

namespace gpushim::shim {
namespace {

constexpr size_t kMostSteady = 64;
constexpr double kRateKnown = 5e-6;

double middle(double low, double high) { return low + (high - low) / 2; }

}  // namespace

ClockModel::Interval ClockModel::rate_between(const Anchor& a, const Anchor& b) {
    const double device = b.device_ns - a.device_ns;
    return {static_cast<double>(b.low_ns - a.high_ns) / device,
            static_cast<double>(b.high_ns - a.low_ns) / device};
}

// From every anchor that follows one rate with those before it.
void ClockModel::learn_rate(const Anchor& next) {
    Interval all = rate_;
    for (size_t i = 0; i < steady_; ++i) {
        const Interval pair = rate_between(anchors_[anchors_.size() - 1 - i], next);
        all = {std::max(all.low, pair.low), std::min(all.high, pair.high)};
    }
    if (all.low <= all.high) {
        rate_ = all;
        steady_ = std::min(steady_ + 1, kMostSteady);
        return;
    }
    // Which of them has jumped is not known: any rate that any of them shows may be the true one.
    const Interval newest = rate_between(anchors_.back(), next);
    rate_ = {std::clamp(std::min(rate_.low, newest.low), 1 - kWorstRate, 1 + kWorstRate),
             std::clamp(std::max(rate_.high, newest.high), 1 - kWorstRate, 1 + kWorstRate)};
    steady_ = 1;
}

void ClockModel::add(double device_ns, int64_t low_ns, int64_t high_ns) {
    const Anchor next = {device_ns, low_ns, high_ns};
    if (!anchors_.empty()) {
        if (device_ns <= anchors_.back().device_ns) return;
        const Interval expected = reach(anchors_.back(), device_ns);
        residual_ns_ = rounded(next.middle() - middle(expected.low, expected.high));
    }
    learn_rate(next);
    anchors_.push_back(next);
    if (anchors_.size() > kMostAnchors) anchors_.pop_front();
}

bool ClockModel::is_before_newest(double device_ns) const {
    return !anchors_.empty() && device_ns <= anchors_.back().device_ns;
}

ClockModel::Interval ClockModel::reach(const Anchor& from, double device_ns) const {
    const Interval rate = is_settled() ? rate_ : Interval{1 - kWorstRate, 1 + kWorstRate};
    const double distance = device_ns - from.device_ns;
    const double one = distance * rate.low, other = distance * rate.high;
    return {static_cast<double>(from.low_ns) + std::min(one, other),
            static_cast<double>(from.high_ns) + std::max(one, other)};
}

Moments ClockModel::at(double device_ns) const {
    const auto after = std::lower_bound(anchors_.begin(), anchors_.end(), device_ns,
                                        [](const Anchor& a, double ns) { return a.device_ns < ns; });
    if (after == anchors_.begin() || after == anchors_.end()) {
        const Interval alone = reach(after == anchors_.end() ? anchors_.back() : *after, device_ns);
        const double ns = middle(alone.low, alone.high);
        return {rounded_down(alone.low), rounded(ns), rounded_up(alone.high), rounded_up(ns - alone.low)};
    }
    const auto before = after - 1;
    const Interval on = reach(*before, device_ns), back = reach(*after, device_ns);
    const double low = std::min(on.low, back.low), high = std::max(on.high, back.high);
    const double share = (device_ns - before->device_ns) / (after->device_ns - before->device_ns);
    const double between = before->middle() + share * (after->middle() - before->middle());
    const double jumped = std::abs(middle(on.low, on.high) - middle(back.low, back.high));
    // With what the rate may be off over the way to the nearer one.
    const double own = std::max(before->half(), after->half());
    const double drifted =
        std::min(on.high - on.low - 2 * before->half(), back.high - back.low - 2 * after->half());
    const double likely = own + jumped + drifted / 2;
    return {rounded_down(low), rounded(between), rounded_up(high), rounded_up(likely)};
}

int64_t ClockModel::error_ns() const { return rounded_up(anchors_.back().half()); }

int64_t ClockModel::drift_ppb() const {
    if (!is_settled() || rate_.high - rate_.low > 2 * kRateKnown) return kNull;
    return rounded((1 / middle(rate_.low, rate_.high) - 1) * 1e9);
}

}  // namespace gpushim::shim
