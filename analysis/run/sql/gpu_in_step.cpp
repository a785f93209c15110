#include "gpu_in_step.h"

#include <algorithm>

namespace gpushim::analysis {

namespace {

template <class Of>
double sum_of(std::span<const IdlePart> idle, Causes causes, Of of) {
    int64_t sum_ns = 0;
    for (const IdlePart& part : idle)
        if (causes.has(part.cause)) sum_ns += of(part);
    return static_cast<double>(sum_ns);
}

}  // namespace

double GpuInStep::idle_ns(Causes causes) const {
    return sum_of(idle, causes, [](const IdlePart& part) { return part.ns; });
}

double GpuInStep::drained_ns(Causes causes) const {
    return sum_of(idle, causes, [](const IdlePart& part) { return part.drained_ns; });
}

double GpuInStep::longest_ns(Causes causes) const {
    int64_t longest_ns = 0;
    for (const IdlePart& part : idle)
        if (causes.has(part.cause)) longest_ns = std::max(longest_ns, part.longest_ns);
    return static_cast<double>(longest_ns);
}

double GpuInStep::pause_ns() const {
    const double ns = longest_ns(kBetweenLaunches);
    return 2 * ns > idle_ns(kBetweenLaunches) ? ns : 0;
}

double GpuInStep::sure_share() const {
    const auto idle_ns = static_cast<double>(window_ns - busy_ns);
    const auto sure_ns = static_cast<double>(window_ns - busy_high_ns);
    return idle_ns > 0 ? std::clamp(sure_ns / idle_ns, 0.0, 1.0) : 1;
}

int64_t GpuTotal::idle_ns(CauseGroup group) const {
    int64_t sum_ns = 0;
    for (const CauseRow& row : kCauses)
        if (row.group == group) sum_ns += idle[static_cast<size_t>(row.cause)].ns;
    return sum_ns;
}

}  // namespace gpushim::analysis
