#include "gaps.h"

#include <utility>

namespace gpushim::analysis {

void Gaps::end_last_with(const Next& other) {
    Gap& last = gaps_.back();
    if (other.launch_enter_ns < last.next->launch_enter_ns) last.next = other;
}

void Gaps::take(std::vector<Gap>& certain) {
    certain.clear();
    certain.swap(gaps_);  // the memory of both is used again
    // Another operation may start at the same time and have been launched first.
    if (!certain.empty() && certain.back().until_ns == last_start_ns_) {
        gaps_.push_back(certain.back());
        certain.pop_back();
    }
}

std::vector<Gap> Gaps::finish() {
    if (idle_from_ns_ < window_.end_ns)
        gaps_.push_back({gpu_, idle_from_ns_, window_.end_ns, {}, is_behind_page_});
    idle_from_ns_ = window_.end_ns;
    return std::exchange(gaps_, {});
}

}  // namespace gpushim::analysis
