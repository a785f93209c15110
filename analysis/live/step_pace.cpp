#include "step_pace.h"

#include <algorithm>

namespace gpushim::analysis {

namespace {

constexpr int64_t kNewestNs = 10'000'000'000, kKeptNs = 60'000'000'000, kPointNs = 5'000'000'000;
constexpr size_t kPoints = kKeptNs / kPointNs;
constexpr size_t kEnough = 5;  // steps, for a change to be one

std::optional<int64_t> median_of(std::vector<int64_t> lengths_ns) {
    if (lengths_ns.empty()) return {};
    const auto middle = lengths_ns.begin() + static_cast<std::ptrdiff_t>(lengths_ns.size() / 2);
    std::nth_element(lengths_ns.begin(), middle, lengths_ns.end());
    return *middle;
}

}  // namespace

void StepPace::add(int64_t begin_ns, int64_t length_ns) {
    if (length_ns < 0) return;
    const auto place =
        std::lower_bound(steps_.begin(), steps_.end(), begin_ns,
                         [](const Step& step, int64_t at_ns) { return step.begin_ns < at_ns; });
    if (place != steps_.end() && place->begin_ns == begin_ns) return;
    steps_.insert(place, {begin_ns, length_ns});
    if (steps_.size() > kMostSteps) steps_.pop_front();
}

void StepPace::mark(int64_t begin_ns) {
    if (begin_ns <= marked_ns_) return;
    if (marked_ns_ != INT64_MIN) add(marked_ns_, begin_ns - marked_ns_);
    marked_ns_ = begin_ns;
}

PaceNow StepPace::at(int64_t now_ns) {
    while (!steps_.empty() && steps_.front().end_ns() <= now_ns - kKeptNs) steps_.pop_front();
    std::vector<int64_t> newest, before;
    std::vector<std::vector<int64_t>> points(kPoints);
    for (const Step& step : steps_) {
        const int64_t age_ns = std::max<int64_t>(0, now_ns - step.end_ns());
        (age_ns < kNewestNs ? newest : before).push_back(step.length_ns);
        if (age_ns < kKeptNs)
            points[kPoints - 1 - static_cast<size_t>(age_ns / kPointNs)].push_back(step.length_ns);
    }
    PaceNow pace;
    pace.steps = static_cast<int64_t>(newest.size());
    pace.median_ns = median_of(newest);
    if (newest.size() >= kEnough && before.size() >= kEnough && *median_of(before) > 0)
        pace.change = static_cast<double>(*pace.median_ns) / static_cast<double>(*median_of(before)) - 1;
    for (std::vector<int64_t>& point : points) pace.course_ns.push_back(median_of(std::move(point)));
    return pace;
}

}  // namespace gpushim::analysis
