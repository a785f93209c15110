#include "align.h"

#include <algorithm>
#include <cmath>

#include "../to_int64.h"

namespace gpushim::analysis {

namespace {

constexpr size_t kMostFitted = 128;  // pairs of them are looked at

// Rounded up: a bound is never too tight.
int64_t drift_ns(int64_t dt_ns, int64_t per_million) {
    return (std::abs(dt_ns) * per_million + 999'999) / 1'000'000;
}

double median_of(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

// Where data hardly counts, all ranks end nearly at once. Evenly over time, at most kMostFitted.
std::vector<SharedBarrier> smallest_of(std::span<const SharedBarrier> barriers) {
    int64_t smallest = INT64_MAX;
    for (const SharedBarrier& one : barriers) smallest = std::min(smallest, one.bytes);
    std::vector<SharedBarrier> small, some;
    for (const SharedBarrier& one : barriers)
        if (one.bytes == smallest) small.push_back(one);
    const size_t every = small.size() / kMostFitted + 1;
    for (size_t i = 0; i < small.size(); i += every) some.push_back(small[i]);
    return some;
}

}  // namespace

std::optional<SharedBarrier> shared_barrier(const CollectiveInstance& instance,
                                            std::span<const int> host_of_rank, int host_a, int host_b) {
    if (!is_barrier_like(instance.op) || instance.aborted) return {};
    // Of one whose messages are not alike ranks end apart.
    if (instance.op == CollectiveOp::all_to_all && instance.bytes < 0) return {};
    SharedBarrier barrier = {instance.bytes, INT64_MIN, INT64_MAX, INT64_MIN,
                             INT64_MIN,      INT64_MAX, INT64_MIN};
    for (const RankPart& part : instance.parts) {
        if (!part.device) continue;
        const int host = host_of_rank[static_cast<size_t>(part.rank)];
        if (host == host_a) {
            barrier.a_last_start_ns = std::max(barrier.a_last_start_ns, part.device->start_ns);
            barrier.a_first_end_ns = std::min(barrier.a_first_end_ns, part.device->end_ns);
            barrier.a_last_end_ns = std::max(barrier.a_last_end_ns, part.device->end_ns);
        } else if (host == host_b) {
            barrier.b_last_start_ns = std::max(barrier.b_last_start_ns, part.device->start_ns);
            barrier.b_first_end_ns = std::min(barrier.b_first_end_ns, part.device->end_ns);
            barrier.b_last_end_ns = std::max(barrier.b_last_end_ns, part.device->end_ns);
        }
    }
    const bool both = barrier.a_last_end_ns != INT64_MIN && barrier.b_last_end_ns != INT64_MIN;
    return both ? std::optional(barrier) : std::nullopt;
}

ClockOffset chained(const ClockOffset& b_to_a, const ClockOffset& c_to_b) {
    return {b_to_a.low_ns + c_to_b.low_ns, b_to_a.high_ns + c_to_b.high_ns,
            b_to_a.point_ns + c_to_b.point_ns};
}

HostOffset::HostOffset(std::span<const SharedBarrier> barriers, int64_t drift_per_million)
    : same_host_(false), drift_per_million_(drift_per_million) {
    // An upper bound is a lower one of the negated offset. Each holds at the moment on B that it is about.
    for (const SharedBarrier& one : barriers) {
        lows_.push_back({one.b_first_end_ns, one.a_last_start_ns - one.b_first_end_ns});
        negated_highs_.push_back({one.b_last_start_ns, one.b_last_start_ns - one.a_first_end_ns});
    }
    lows_ = tightened(std::move(lows_));
    negated_highs_ = tightened(std::move(negated_highs_));
    if (!barriers.empty()) line_ = line_through(barriers);
}

// Each bound as tight as those before and behind it make it: then only the next on each side counts.
std::vector<HostOffset::Bound> HostOffset::tightened(std::vector<Bound> lows) const {
    std::sort(lows.begin(), lows.end(), [](const Bound& a, const Bound& b) { return a.b_ns < b.b_ns; });
    const auto take = [&](Bound& bound, const Bound& from) {
        const int64_t moved_ns = from.offset_ns - drift_ns(bound.b_ns - from.b_ns, drift_per_million_);
        bound.offset_ns = std::max(bound.offset_ns, moved_ns);
    };
    for (size_t i = 1; i < lows.size(); ++i) take(lows[i], lows[i - 1]);
    for (size_t i = lows.size(); i-- > 1;) take(lows[i - 1], lows[i]);
    return lows;
}

std::optional<int64_t> HostOffset::low_at(const std::vector<Bound>& lows, int64_t b_ns) const {
    std::optional<int64_t> low;
    const auto take = [&](const Bound& from) {
        const int64_t moved_ns = from.offset_ns - drift_ns(b_ns - from.b_ns, drift_per_million_);
        low = low ? std::max(*low, moved_ns) : moved_ns;
    };
    const auto next = std::lower_bound(lows.begin(), lows.end(), b_ns,
                                       [](const Bound& bound, int64_t at_ns) { return bound.b_ns < at_ns; });
    if (next != lows.end()) take(*next);
    if (next != lows.begin()) take(*std::prev(next));
    return low;
}

// The median of all slopes between two points, and of what is left: up to a quarter of them may be far off.
HostOffset::Line HostOffset::line_through(std::span<const SharedBarrier> barriers) {
    const std::vector<SharedBarrier> points = smallest_of(barriers);
    const auto offset_of = [](const SharedBarrier& one) {
        return static_cast<double>(one.a_last_end_ns - one.b_last_end_ns);
    };
    Line line;
    line.from_b_ns = points.front().b_last_end_ns;
    std::vector<double> slopes, rests;
    for (size_t i = 0; i < points.size(); ++i)
        for (size_t j = i + 1; j < points.size(); ++j)
            if (const int64_t dt_ns = points[j].b_last_end_ns - points[i].b_last_end_ns; dt_ns != 0)
                slopes.push_back((offset_of(points[j]) - offset_of(points[i])) / static_cast<double>(dt_ns));
    if (!slopes.empty()) line.slope = median_of(std::move(slopes));
    for (const SharedBarrier& one : points)
        rests.push_back(offset_of(one) -
                        line.slope * static_cast<double>(one.b_last_end_ns - line.from_b_ns));
    line.offset_ns = median_of(std::move(rests));
    return line;
}

std::optional<ClockOffset> HostOffset::at(int64_t b_ns) const {
    if (same_host_) return ClockOffset{0, 0, 0};
    const auto low = low_at(lows_, b_ns), negated_high = low_at(negated_highs_, b_ns);
    if (!low || !negated_high || *low > -*negated_high) return {};
    const double fitted = line_.offset_ns + line_.slope * static_cast<double>(b_ns - line_.from_b_ns);
    // The line is likely, the bounds are certain.
    return ClockOffset{*low, -*negated_high, std::clamp<int64_t>(to_int64(fitted), *low, -*negated_high)};
}

}  // namespace gpushim::analysis
