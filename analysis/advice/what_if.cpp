#include "what_if.h"

#include <algorithm>

#include "../trace/database.h"

namespace gpushim::analysis {

namespace {

constexpr double kSecond = 1e9;

bool is_among(std::string_view cause, std::initializer_list<std::string_view> causes) {
    return std::find(causes.begin(), causes.end(), cause) != causes.end();
}

// What goes with these causes. Low: each gap is left with a launch's latency, as its queue is empty still.
Gain idle_of(const GpuInStep& gpu, std::initializer_list<std::string_view> causes) {
    Gain gone;
    for (const IdlePart& part : gpu.idle) {
        if (!is_among(part.cause, causes)) continue;
        gone.high_ns += static_cast<double>(part.ns);
        gone.low_ns += static_cast<double>(std::max<int64_t>(0, part.ns - part.pieces * gpu.latency_ns));
    }
    return gone;
}

}  // namespace

// Where some steps were timed on all GPUs that were timed at all, only these: a step is as long as its
// slowest GPU.
WhatIf::WhatIf(sqlite3* run) {
    std::map<int64_t, std::map<int64_t, GpuInStep>> found;  // by number of the step, then GPU
    Query rows(run, "the run's database",
               "SELECT coalesce(c.number, c.step), c.gpu_id, c.step, c.window_ns, c.waiting_for_peer_ns,"
               " coalesce(g.latency_ns, 0), c.basis FROM v_gpu_counted c JOIN gpu g ON g.gpu_id = c.gpu_id");
    size_t most = 0;
    std::string basis;
    while (rows.step()) {
        auto& gpus = found[rows.number(0)];
        gpus[rows.number(1)] = {rows.number(1), rows.number(2), rows.number(3),
                                rows.number(4), rows.number(5), {}};
        most = std::max(most, gpus.size());
        basis = std::max(basis, rows.text(6));  // spans < steps, slices < steps
    }
    Query gaps(run, "the run's database",
               "SELECT coalesce(b.number, b.step), b.gpu_id, p.cause, sum(p.ns), sum(p.pieces),"
               " sum(p.drained_by_sync_ns) FROM v_gpu_basis b"
               " JOIN gap p ON p.gpu_id = b.gpu_id AND p.step = b.step GROUP BY 1, 2, 3");
    while (gaps.step())
        if (const auto step = found.find(gaps.number(0)); step != found.end())
            if (const auto gpu = step->second.find(gaps.number(1)); gpu != step->second.end())
                gpu->second.idle.push_back({gaps.text(2), gaps.number(3), gaps.number(4), gaps.number(5)});
    has_steps_ = basis == "steps";
    double sum_ns = 0;
    for (auto& [number, gpus] : found) {
        if (gpus.size() < most) continue;
        std::vector<GpuInStep> step;
        double longest_ns = 0;
        for (auto& [id, gpu] : gpus) {
            longest_ns = std::max(longest_ns, static_cast<double>(gpu.window_ns));
            step.push_back(std::move(gpu));
        }
        sum_ns += longest_ns;
        by_step_.push_back(std::move(step));
    }
    if (by_step_.empty() || sum_ns <= 0) {
        by_step_.clear();
        return;
    }
    const double mean_ns = sum_ns / static_cast<double>(by_step_.size());
    step_ns_ = has_steps_ ? mean_ns : kSecond;
    scale_ = step_ns_ / mean_ns;
}

Gain WhatIf::shorter(const std::function<Gain(const GpuInStep&)>& less) const {
    Gain sum;
    for (const auto& step : by_step_) {
        double now_ns = 0, best_ns = 0, worst_ns = 0;
        for (const GpuInStep& gpu : step) {
            const Gain gone = less(gpu);
            now_ns = std::max(now_ns, gpu.own_ns());
            best_ns = std::max(best_ns, gpu.own_ns() - gone.high_ns);
            worst_ns = std::max(worst_ns, gpu.own_ns() - gone.low_ns);
        }
        sum.low_ns += now_ns - worst_ns;
        sum.high_ns += now_ns - best_ns;
    }
    const double each = by_step_.empty() ? 0 : scale_ / static_cast<double>(by_step_.size());
    return {sum.low_ns * each, sum.high_ns * each};
}

Gain WhatIf::shorter(const std::map<int64_t, Gain>& by_gpu) const {
    return shorter([&](const GpuInStep& gpu) {
        const auto found = by_gpu.find(gpu.gpu_id);
        if (found == by_gpu.end()) return Gain{};
        // Given for what a gain is of; a step here may be a slice.
        return Gain{found->second.low_ns / scale_, found->second.high_ns / scale_};
    });
}

Gain WhatIf::without(std::initializer_list<std::string_view> causes) const {
    return shorter([&](const GpuInStep& gpu) { return idle_of(gpu, causes); });
}

double WhatIf::idle_ns(std::initializer_list<std::string_view> causes) const {
    std::map<int64_t, double> by_gpu;
    for (const auto& step : by_step_)
        for (const GpuInStep& gpu : step) by_gpu[gpu.gpu_id] += idle_of(gpu, causes).high_ns;
    double most_ns = 0;
    for (const auto& [id, ns] : by_gpu) most_ns = std::max(most_ns, ns);
    return by_step_.empty() ? 0 : most_ns * scale_ / static_cast<double>(by_step_.size());
}

}  // namespace gpushim::analysis
