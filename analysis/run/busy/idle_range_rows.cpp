#include "idle_range_rows.h"

#include <optional>
#include <string>

#include "../sql/run_db.h"

namespace gpushim::analysis {

// Which steps count is known before; figures are of these.
std::string_view IdleRangeRows::steps_of(int32_t step) const {
    if (step == kNoStep) return "none";
    const Step& one = facts_.steps[static_cast<size_t>(step)];
    return one.is_warm_up || one.is_left_out ? "others" : "counted";
}

void IdleRangeRows::add(size_t gpu, const RangeIdle& sums) {
    for (const auto& [key, sum] : sums) {
        const auto& [step, cause, range] = key;
        RangeSum& all = of_gpu_[gpu][{steps_of(step), cause, range}];
        all.ns += sum.ns;
        all.over_ns += sum.over_ns;
    }
}

void IdleRangeRows::write(RunDb& run, std::span<const OwnRangeName> names) const {
    const auto text = [](const std::optional<std::string>& is) { return is ? Value(*is) : Value(nullptr); };
    for (size_t gpu = 0; gpu < of_gpu_.size(); ++gpu)
        for (const auto& [key, sum] : of_gpu_[gpu]) {
            const auto& [steps, cause, range] = key;
            const OwnRangeName& is = names[static_cast<size_t>(range)];
            run.add("idle_range", {facts_.gpus[gpu].gpu_id, std::string(steps), std::string(name_of(cause)),
                                   text(is.domain), text(is.name), sum.ns, sum.over_ns});
        }
}

}  // namespace gpushim::analysis
