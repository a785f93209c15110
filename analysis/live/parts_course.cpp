#include "parts_course.h"

namespace gpushim::analysis {

namespace {

std::optional<GpuParts> of(const std::map<int64_t, GpuParts>& gpus, int64_t device_id) {
    const auto found = gpus.find(device_id);
    return found == gpus.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

void PartsCourse::add(Interval span, const std::map<int64_t, GpuParts>& gpus) {
    if (!windows_.empty() && span.start_ns <= windows_.back().span.start_ns) return;
    windows_.push_back({span, gpus});
    if (windows_.size() > kMostWindows) windows_.pop_front();
}

void PartsCourse::put_around_change(RankNow& rank) {
    if (!rank.change) return;
    const int64_t at_ns = rank.change->at_ns;
    if (at_ns != change_ns_) before_ = between(rank.change->from_ns, at_ns);
    change_ns_ = at_ns;
    const auto since = between(at_ns, INT64_MAX);
    for (GpuNow& gpu : rank.gpus) {
        gpu.parts_before = of(before_, gpu.device_id);
        gpu.parts_since = of(since, gpu.device_id);
    }
}

std::map<int64_t, GpuParts> PartsCourse::between(int64_t from_ns, int64_t until_ns) const {
    std::map<int64_t, GpuParts> sums;
    for (const Window& window : windows_) {
        if (window.span.start_ns < from_ns || window.span.end_ns > until_ns) continue;
        for (const auto& [device_id, parts] : window.gpus) sums[device_id] += parts;
    }
    return sums;
}

}  // namespace gpushim::analysis
