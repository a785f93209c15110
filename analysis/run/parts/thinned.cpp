#include "thinned.h"

#include <algorithm>

#include "../../trace/plausible.h"

namespace gpushim::analysis {

namespace {

// So long that so many of them hold all from begin to end, both included.
int64_t length_of(int64_t begin_ns, int64_t end_ns, size_t parts) {
    return std::max<int64_t>(1, (end_ns - begin_ns) / static_cast<int64_t>(parts) + 1);
}

}  // namespace

std::vector<ThinnedPart> thinned_samples(const std::vector<TimedValue>& samples, size_t parts) {
    std::vector<ThinnedPart> all;
    if (samples.empty()) return all;
    const int64_t begin_ns = plausible_time(samples.front().at_ns);
    const int64_t length_ns = length_of(begin_ns, plausible_time(samples.back().at_ns), parts);
    double count = 0;
    for (const TimedValue& sample : samples) {
        const int64_t from_ns = begin_ns + (plausible_time(sample.at_ns) - begin_ns) / length_ns * length_ns;
        if (all.empty() || all.back().from_ns != from_ns) {
            all.push_back({from_ns, 0, sample.value});
            count = 0;
        }
        ThinnedPart& part = all.back();
        part.mean += (sample.value - part.mean) / ++count;
        part.most = std::max(part.most, sample.value);
    }
    return all;
}

ThinnedSteps::ThinnedSteps(int64_t begin_ns, int64_t end_ns, size_t parts)
    : begin_ns_(plausible_time(begin_ns)),
      end_ns_(std::max(begin_ns_, plausible_time(end_ns))),
      length_ns_(length_of(begin_ns_, end_ns_, parts)),
      now_ns_(begin_ns_) {
    const auto used = static_cast<size_t>((end_ns_ - begin_ns_) / length_ns_) + 1;
    sums_.resize(used);
    mosts_.resize(used);
}

void ThinnedSteps::hold_until(int64_t until_ns) {
    while (now_ns_ < until_ns) {
        const auto part = static_cast<size_t>((now_ns_ - begin_ns_) / length_ns_);
        const int64_t end_ns = std::min(until_ns, begin_ns_ + static_cast<int64_t>(part + 1) * length_ns_);
        sums_[part] += value_ * static_cast<double>(end_ns - now_ns_);
        mosts_[part] = std::max(mosts_[part], value_);
        now_ns_ = end_ns;
    }
}

void ThinnedSteps::add(const TimedValue& change) {
    hold_until(std::clamp(change.at_ns, now_ns_, end_ns_));
    value_ = change.value;
    const auto part = static_cast<size_t>((now_ns_ - begin_ns_) / length_ns_);
    mosts_[part] = std::max(mosts_[part], value_);
}

std::vector<ThinnedPart> ThinnedSteps::finish() {
    hold_until(end_ns_);
    std::vector<ThinnedPart> all;
    for (size_t i = 0; i < sums_.size(); ++i) {
        const int64_t from_ns = begin_ns_ + static_cast<int64_t>(i) * length_ns_;
        const int64_t ns = std::min(length_ns_, end_ns_ - from_ns);
        if (ns > 0) all.push_back({from_ns, sums_[i] / static_cast<double>(ns), mosts_[i]});
    }
    return all;
}

}  // namespace gpushim::analysis
