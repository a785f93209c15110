#include "what_if.h"

#include <algorithm>

#include "../trace/database.h"

namespace gpushim::analysis {

namespace {

constexpr double kSecond = 1e9;
constexpr double kLeftInGraphs = 0.6;  // of gaps as short as those between kernels that were queued

bool is_among(std::string_view cause, std::initializer_list<std::string_view> causes) {
    return std::find(causes.begin(), causes.end(), cause) != causes.end();
}

// What goes with these causes. Low: each gap is left with so much, for its queue is empty still; or with
// that share of it, if that is less.
Gain idle_of(const GpuInStep& gpu, std::initializer_list<std::string_view> causes, int64_t left_ns,
             double left_share = 1) {
    Gain gone;
    for (const IdlePart& part : gpu.idle) {
        if (!is_among(part.cause, causes)) continue;
        const auto ns = static_cast<double>(part.ns);
        const auto left = std::min(static_cast<double>(part.pieces * left_ns), ns * left_share);
        gone.high_ns += ns;
        gone.low_ns += (ns - left) * gpu.sure_share();
    }
    return gone;
}

template <class Of>
double sum_of(const GpuInStep& gpu, std::initializer_list<std::string_view> causes, Of of) {
    int64_t sum_ns = 0;
    for (const IdlePart& part : gpu.idle)
        if (is_among(part.cause, causes)) sum_ns += of(part);
    return static_cast<double>(sum_ns);
}

using RanksOfStep = std::map<int64_t, GpuInStep>;  // by rank_id

void read_steps(sqlite3* run, std::map<int64_t, RanksOfStep>& found, std::string& basis) {
    Query rows(run, "the run's database",
               "SELECT coalesce(c.number, c.step), g.rank_id, c.gpu_id, c.step, c.window_ns, c.busy_ns,"
               " c.busy_high_ns,"
               " c.waiting_for_peer_ns, coalesce(g.latency_ns, 0), coalesce(g.kernel_gap_ns, 0),"
               " coalesce(s.has_load, 0), c.basis FROM v_gpu_counted c JOIN gpu g ON g.gpu_id = c.gpu_id"
               " LEFT JOIN step s ON s.rank_id = g.rank_id AND s.step = c.step ORDER BY c.gpu_id");
    while (rows.step()) {
        RanksOfStep& ranks = found[rows.number(0)];
        GpuInStep gpu = {rows.number(2), rows.number(1), rows.number(0),       rows.number(3),
                         rows.number(4), rows.number(5), rows.number(6),       rows.number(7),
                         rows.number(8), rows.number(9), rows.number(10) != 0, {}};
        const auto [rank, is_first] = ranks.try_emplace(gpu.rank_id, gpu);
        const auto worked_ns = [](const GpuInStep& one) { return one.busy_ns - one.waiting_ns; };
        if (!is_first && worked_ns(gpu) > worked_ns(rank->second)) rank->second = gpu;
        basis = std::max(basis, rows.text(11));  // spans or slices < steps
    }
}

void read_gaps(sqlite3* run, std::map<int64_t, RanksOfStep>& found) {
    Query gaps(run, "the run's database",
               "SELECT coalesce(b.number, b.step), g.rank_id, b.gpu_id, p.cause, sum(p.ns), sum(p.pieces),"
               " sum(p.drained_by_sync_ns) FROM v_gpu_basis b JOIN gpu g ON g.gpu_id = b.gpu_id"
               " JOIN gap p ON p.gpu_id = b.gpu_id AND p.step = b.step GROUP BY 1, 2, 3, 4");
    while (gaps.step()) {
        const auto step = found.find(gaps.number(0));
        if (step == found.end()) continue;
        const auto rank = step->second.find(gaps.number(1));
        if (rank == step->second.end() || rank->second.gpu_id != gaps.number(2)) continue;
        rank->second.idle.push_back({gaps.text(3), gaps.number(4), gaps.number(5), gaps.number(6)});
    }
}

}  // namespace

double GpuInStep::idle_ns(std::initializer_list<std::string_view> causes) const {
    return sum_of(*this, causes, [](const IdlePart& part) { return part.ns; });
}

double GpuInStep::sure_share() const {
    const auto idle_ns = static_cast<double>(window_ns - busy_ns);
    const auto sure_ns = static_cast<double>(window_ns - busy_high_ns);
    return idle_ns > 0 ? std::clamp(sure_ns / idle_ns, 0.0, 1.0) : 1;
}

double GpuInStep::drained_ns(std::initializer_list<std::string_view> causes) const {
    return sum_of(*this, causes, [](const IdlePart& part) { return part.drained_ns; });
}

// Where some steps were timed on all ranks that were timed at all, only these: a step is as long as its
// slowest rank.
WhatIf::WhatIf(sqlite3* run) {
    std::map<int64_t, RanksOfStep> found;  // by the step's number
    std::string basis;
    read_steps(run, found, basis);
    read_gaps(run, found);
    has_steps_ = basis == "steps";
    size_t most = 0;
    for (const auto& [number, ranks] : found) most = std::max(most, ranks.size());
    double sum_ns = 0;
    for (auto& [number, ranks] : found) {
        if (ranks.size() < most) continue;
        auto& step = by_step_.emplace_back();
        double longest_ns = 0;
        for (auto& [id, gpu] : ranks) {
            longest_ns = std::max(longest_ns, static_cast<double>(gpu.window_ns));
            step.push_back(std::move(gpu));
        }
        sum_ns += longest_ns;
    }
    if (sum_ns <= 0) {
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

Gain WhatIf::without(std::initializer_list<std::string_view> causes, Left left) const {
    return shorter([&](const GpuInStep& gpu) {
        if (left == Left::kLatency) return idle_of(gpu, causes, gpu.latency_ns);
        return idle_of(gpu, causes, gpu.kernel_gap_ns, kLeftInGraphs);
    });
}

Gain WhatIf::without_drained(std::initializer_list<std::string_view> causes) const {
    return shorter([&](const GpuInStep& gpu) {
        Gain gone;
        for (const IdlePart& part : gpu.idle) {
            if (!is_among(part.cause, causes)) continue;
            const int64_t left_ns = std::min(part.drained_ns, part.pieces * gpu.latency_ns);
            gone.high_ns += static_cast<double>(part.drained_ns);
            gone.low_ns += static_cast<double>(part.drained_ns - left_ns) * gpu.sure_share();
        }
        return gone;
    });
}

double WhatIf::usual_ns(std::initializer_list<std::string_view> causes) const {
    std::vector<double> all;
    for (const auto& step : by_step_)
        for (const GpuInStep& gpu : step) all.push_back(gpu.idle_ns(causes));
    if (all.empty()) return 0;
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
    std::nth_element(all.begin(), middle, all.end());
    return *middle;
}

double WhatIf::idle_ns(std::initializer_list<std::string_view> causes) const {
    std::map<int64_t, double> by_gpu;
    for (const auto& step : by_step_)
        for (const GpuInStep& gpu : step) by_gpu[gpu.gpu_id] += gpu.idle_ns(causes);
    double most_ns = 0;
    for (const auto& [id, ns] : by_gpu) most_ns = std::max(most_ns, ns);
    return by_step_.empty() ? 0 : most_ns * scale_ / static_cast<double>(by_step_.size());
}

}  // namespace gpushim::analysis
