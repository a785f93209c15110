#include "launch_figures.h"

namespace gpushim::analysis {

void LaunchFigures::add(const Call& call, What what, int64_t between_ns) {
    const bool is_here = span_.start_ns <= call.enter_ns && call.enter_ns < span_.end_ns;
    if (!is_here && !enter_segment_at(call.enter_ns)) return;
    LaunchSums& sums = *here_;
    if (what == What::launch) sums.api_ns += call.exit_ns - call.enter_ns;
    if (between_ns > 0) sums.between_ns += between_ns;
    if (call.kind != CallKind::operation) return;
    ++sums.operations;
    sums.timed += call.timed;
    if (!sums.first_enter_ns) sums.first_enter_ns = call.enter_ns;
}

bool LaunchFigures::enter_segment_at(int64_t t_ns) {
    const size_t segment = cursor_.at(t_ns);
    if (segment == sums_.size()) return false;
    span_ = {segments_[segment].from_ns, segments_[segment].until_ns};
    here_ = &sums_[segment];
    return true;
}

int64_t LaunchLoop::between(const Call& call, What what, int32_t gpu) {
    if (!decides(what)) return -1;
    const int64_t gap_ns =
        gpu_ != kNoGpu && gpu_ == gpu && call.enter_ns >= until_ns_ ? call.enter_ns - until_ns_ : -1;
    if (call.exit_ns >= until_ns_) {
        until_ns_ = call.exit_ns;
        gpu_ = what == What::launch ? gpu : kNoGpu;
    }
    return gap_ns < kLaunchLoopGapNs ? gap_ns : -1;
}

}  // namespace gpushim::analysis
