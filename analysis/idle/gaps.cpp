#include "gaps.h"

#include <algorithm>
#include <utility>

namespace gpushim::analysis {

void Gaps::add(const DeviceOperation& operation) {
    if (operation.end_ns < operation.start_ns) return;
    last_start_ns_ = operation.start_ns;
    if (operation.start_ns >= window_.end_ns) return;
    if (operation.start_ns > idle_from_ns_)
        gaps_.push_back({gpu_, idle_from_ns_, operation.start_ns, operation.next, is_behind_page_});
    else if (!gaps_.empty() && gaps_.back().until_ns == operation.start_ns &&
             operation.next.launch_enter_ns < gaps_.back().next->launch_enter_ns)
        gaps_.back().next = operation.next;
    if (operation.end_ns >= idle_from_ns_) is_behind_page_ = operation.next.is_page;
    idle_from_ns_ = std::max(idle_from_ns_, operation.end_ns);
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
