#include "what_if.h"

#include <algorithm>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <utility>

#include "../parallel/in_parallel.h"

namespace gpushim::analysis {

namespace {

constexpr double kSecond = 1e9;
constexpr double kLeftInGraphs = 0.6;  // of gaps as short as those between kernels that were queued

// What goes with these causes. Low: each gap is left with so much, for its queue is empty still; or with
// that share of it, if that is less.
Gain idle_of(const GpuInStep& gpu, Causes causes, int64_t left_ns, double left_share = 1) {
    Gain gone;
    for (const IdlePart& part : gpu.idle) {
        if (!causes.has(part.cause)) continue;
        const auto ns = static_cast<double>(part.ns);
        const auto left = std::min(static_cast<double>(part.pieces * left_ns), ns * left_share);
        gone.high_ns += ns;
        gone.low_ns += (ns - left) * gpu.sure_share();
    }
    return gone;
}

double middle_of(std::vector<double>& all) {
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
    std::nth_element(all.begin(), middle, all.end());
    return *middle;
}

double worked_ns(const GpuInStep& gpu) { return static_cast<double>(gpu.busy_ns - gpu.waiting_ns); }

// Of the GPUs of which the most is known: spans or slices < steps. What a rank without steps did, a slice of
// the run, is no part of another's step.
std::set<int64_t> gpus_like(const CountedSteps& basis, const std::string& word) {
    std::set<int64_t> gpus;
    for (const GpuTotal& total : basis.totals())
        if (word != "steps" || total.basis == word) gpus.insert(total.gpu_id);
    return gpus;
}

// work(first, end, which) of some steps after the other, on all processors where they are many. What is
// summed up by `which` is the same on one of them.
constexpr size_t kSome = 16'384;
size_t how_many(size_t count) { return (count + kSome - 1) / kSome; }
template <class Work>
void some_at_a_time(size_t count, const Work& work) {
    in_parallel(how_many(count), std::thread::hardware_concurrency(),
                [&](size_t which) { work(which * kSome, std::min(count, (which + 1) * kSome), which); });
}

// By number, otherwise as they come: numbers of steps are dense, and then this takes a tenth of a sort.
std::vector<const GpuInStep*> by_number(std::vector<const GpuInStep*> rows) {
    const auto is_before = [](const GpuInStep* a, const GpuInStep* b) { return a->number < b->number; };
    const auto [least, most] = std::minmax_element(rows.begin(), rows.end(), is_before);
    if (rows.empty()) return rows;
    const auto first = static_cast<uint64_t>((*least)->number);
    const uint64_t range = static_cast<uint64_t>((*most)->number) - first;
    if (range > 2 * rows.size()) {
        std::stable_sort(rows.begin(), rows.end(), is_before);
        return rows;
    }
    const auto place = [&](const GpuInStep* row) { return static_cast<uint64_t>(row->number) - first; };
    std::vector<size_t> next(range + 2, 0);
    for (const GpuInStep* row : rows) ++next[place(row) + 1];
    for (size_t i = 1; i < next.size(); ++i) next[i] += next[i - 1];
    std::vector<const GpuInStep*> sorted(rows.size());
    for (const GpuInStep* row : rows) sorted[next[place(row)]++] = row;
    return sorted;
}

// By step, each rank's busiest GPU; of those that are as busy the first.
std::vector<const GpuInStep*> busiest_of(const CountedSteps& basis, const std::set<int64_t>& of) {
    std::vector<const GpuInStep*> gpus;
    for (const GpuInStep& row : basis.rows())
        if (of.contains(row.gpu_id)) gpus.push_back(&row);
    gpus = by_number(std::move(gpus));
    for (auto from = gpus.begin(), end = from; from != gpus.end(); from = end) {
        while (end != gpus.end() && (*end)->number == (*from)->number) ++end;
        std::sort(from, end, [](const GpuInStep* a, const GpuInStep* b) {
            return std::tuple(a->rank_id, -worked_ns(*a), a->gpu_id, a->step) <
                   std::tuple(b->rank_id, -worked_ns(*b), b->gpu_id, b->step);
        });
    }
    const auto same = [](const GpuInStep* a, const GpuInStep* b) {
        return a->number == b->number && a->rank_id == b->rank_id;
    };
    gpus.erase(std::unique(gpus.begin(), gpus.end(), same), gpus.end());
    return gpus;
}

// How long each worked, in the mean of its rows.
std::map<int64_t, double> mean_by_gpu(const std::vector<const GpuInStep*>& gpus) {
    std::map<int64_t, std::pair<double, double>> sums;  // ns, rows
    for (const GpuInStep* gpu : gpus) {
        sums[gpu->gpu_id].first += worked_ns(*gpu);
        ++sums[gpu->gpu_id].second;
    }
    std::map<int64_t, double> means;
    for (const auto& [gpu, sum] : sums) means[gpu] = sum.first / sum.second;
    return means;
}

}  // namespace

Gain without_idle(const GpuInStep& gpu, double ns) {
    return {std::max(0.0, ns - static_cast<double>(gpu.latency_ns)) * gpu.sure_share(), ns};
}

// Where some steps were timed on all ranks that were timed at all, only these. A step is as long as that of
// the slowest rank in the mean, and as what the busiest rank of each has to do: what one rank does behind a
// collective is in a step of its own, and what the others wait for it is in their next one, so the longest of
// each step would have it twice.
WhatIf::WhatIf(const CountedSteps& basis) {
    std::string word;
    for (const GpuTotal& total : basis.totals()) {
        word = std::max(word, total.basis);  // spans or slices < steps
        for (const CauseRow& row : kCauses)
            if (total.idle[static_cast<size_t>(row.cause)].rows != 0) causes_.push_back(row.cause);
    }
    has_steps_ = word == "steps";
    const std::vector<const GpuInStep*> all = busiest_of(basis, gpus_like(basis, word));
    const auto end_of = [&](size_t from) {
        size_t end = from;
        while (end < all.size() && all[end]->number == all[from]->number) ++end;
        return end;
    };
    size_t most = 0;
    for (size_t from = 0, end; from < all.size(); from = end)
        most = std::max(most, (end = end_of(from)) - from);
    std::map<int64_t, double> by_rank_ns;
    double sum_ns = 0;
    for (size_t from = 0, end; from < all.size(); from = end) {
        if ((end = end_of(from)) - from < most) continue;
        double longest_own_ns = 0;
        for (size_t i = from; i < end; ++i) {
            gpus_.push_back(all[i]);
            by_rank_ns[all[i]->rank_id] += static_cast<double>(all[i]->window_ns);
            longest_own_ns = std::max(longest_own_ns, all[i]->own_ns());
        }
        sum_ns += longest_own_ns;
        step_ends_.push_back(gpus_.size());
    }
    for (const auto& [rank, ns] : by_rank_ns) sum_ns = std::max(sum_ns, ns);
    if (sum_ns <= 0) {
        gpus_.clear();
        step_ends_.clear();
        return;
    }
    const double mean_ns = sum_ns / static_cast<double>(step_ends_.size());
    step_ns_ = has_steps_ ? mean_ns : kSecond;
    scale_ = step_ns_ / mean_ns;
}

void WhatIf::take_as_steps_of(double ns) {
    if (has_steps_ || step_ns_ <= 0 || ns <= 0) return;
    scale_ *= ns / step_ns_;
    step_ns_ = ns;
}

Gain WhatIf::shorter(const std::function<Gain(const GpuInStep&)>& less) const {
    std::vector<Gain> sums(how_many(step_ends_.size()));
    some_at_a_time(step_ends_.size(), [&](size_t first, size_t end, size_t which) {
        for (size_t step = first; step < end; ++step) {
            const Gain gone = shorter(step, less);
            sums[which].low_ns += gone.low_ns;
            sums[which].high_ns += gone.high_ns;
        }
    });
    Gain sum;
    for (const Gain& some : sums) sum = {sum.low_ns + some.low_ns, sum.high_ns + some.high_ns};
    const double each = step_ends_.empty() ? 0 : scale_ / static_cast<double>(step_ends_.size());
    return {sum.low_ns * each, sum.high_ns * each};
}

Gain WhatIf::shorter(size_t step, const std::function<Gain(const GpuInStep&)>& less) const {
    double now_ns = 0, best_ns = 0, worst_ns = 0;
    for (size_t at = step == 0 ? 0 : step_ends_[step - 1]; at < step_ends_[step]; ++at) {
        const GpuInStep& gpu = *gpus_[at];
        const Gain gone = less(gpu);
        now_ns = std::max(now_ns, gpu.own_ns());
        best_ns = std::max(best_ns, gpu.own_ns() - gone.high_ns);
        worst_ns = std::max(worst_ns, gpu.own_ns() - gone.low_ns);
    }
    return {now_ns - worst_ns, now_ns - best_ns};
}

Gain WhatIf::shorter(const std::map<int64_t, Gain>& by_gpu) const {
    const std::map<int64_t, double> mean_worked_ns = mean_by_gpu(gpus_);
    return shorter([&](const GpuInStep& gpu) {
        const auto found = by_gpu.find(gpu.gpu_id);
        if (found == by_gpu.end()) return Gain{};
        // Given for what a gain is of; a step here may be a slice, or one in which the GPU did the work of
        // several others, whose host was ahead.
        const double mean_ns = mean_worked_ns.at(gpu.gpu_id);
        const double part = mean_ns > 0 ? worked_ns(gpu) / mean_ns : 1;
        return Gain{part * of_piece(found->second.low_ns), part * of_piece(found->second.high_ns)};
    });
}

Gain WhatIf::idle_gone(const GpuInStep& gpu, Causes causes, Left left) {
    if (left == WhatIf::Left::kLatency) return idle_of(gpu, causes, gpu.latency_ns);
    return idle_of(gpu, causes, gpu.kernel_gap_ns, kLeftInGraphs);
}

bool WhatIf::has_any(Causes causes) const {
    return std::any_of(causes_.begin(), causes_.end(), [&](Cause cause) { return causes.has(cause); });
}

Gain WhatIf::without(Causes causes, Left left) const {
    if (!has_any(causes)) return {};
    return shorter([&](const GpuInStep& gpu) { return idle_gone(gpu, causes, left); });
}

Gain WhatIf::without_usual(Causes causes, Left left) const {
    if (!has_any(causes)) return {};
    const double most_ns = kUnusual * usual_ns(causes);
    return shorter([&](const GpuInStep& gpu) {
        const Gain gone = idle_gone(gpu, causes, left);
        const double usual = std::min(1.0, most_ns / std::max(1.0, gpu.idle_ns(causes)));
        return Gain{gone.low_ns * usual, gone.high_ns * usual};
    });
}

Gain WhatIf::without_drained(Causes causes) const {
    if (!has_any(causes)) return {};
    const double most_ns = kUnusual * usual_drained_ns(causes);
    return shorter([&](const GpuInStep& gpu) {
        Gain gone;
        const double usual = std::min(1.0, most_ns / std::max(1.0, gpu.drained_ns(causes)));
        for (const IdlePart& part : gpu.idle) {
            if (!causes.has(part.cause)) continue;
            const int64_t left_ns = std::min(part.drained_ns, part.pieces * gpu.latency_ns);
            gone.high_ns += static_cast<double>(part.drained_ns) * usual;
            gone.low_ns += static_cast<double>(part.drained_ns - left_ns) * gpu.sure_share() * usual;
        }
        return gone;
    });
}

double WhatIf::usual_ns(Causes causes) const {
    if (!has_any(causes)) return 0;
    return usual([&](const GpuInStep& gpu) { return gpu.idle_ns(causes); });
}

double WhatIf::usual_drained_ns(Causes causes) const {
    if (!has_any(causes)) return 0;
    return usual([&](const GpuInStep& gpu) { return gpu.drained_ns(causes); });
}

std::map<int64_t, double> WhatIf::usual_by_rank_ns(Causes causes) const {
    const std::vector<double> all_ns = of_each([&](const GpuInStep& gpu) { return gpu.idle_ns(causes); });
    std::map<int64_t, std::vector<double>> by_rank;
    for (size_t i = 0; i < gpus_.size(); ++i) by_rank[gpus_[i]->rank_id].push_back(all_ns[i]);
    std::map<int64_t, double> usual;
    for (auto& [rank, all] : by_rank) usual[rank] = middle_of(all);
    return usual;
}

std::vector<double> WhatIf::of_each(const std::function<double(const GpuInStep&)>& of) const {
    std::vector<double> all(gpus_.size());
    some_at_a_time(gpus_.size(), [&](size_t first, size_t end, size_t) {
        for (size_t i = first; i < end; ++i) all[i] = of(*gpus_[i]);
    });
    return all;
}

void WhatIf::each(const std::function<void(const GpuInStep&)>& see) const {
    for (const GpuInStep* gpu : gpus_) see(*gpu);
}

double WhatIf::usual(const std::function<double(const GpuInStep&)>& of) const {
    std::vector<double> all = of_each(of);
    return all.empty() ? 0 : middle_of(all);
}

double WhatIf::idle_ns(Causes causes) const {
    if (!has_any(causes)) return 0;
    return mean_ns([&](const GpuInStep& gpu) { return gpu.idle_ns(causes); });
}

double WhatIf::mean_ns(const std::function<double(const GpuInStep&)>& of) const {
    const std::vector<double> all = of_each(of);
    struct OfRank {
        double sum_ns = 0;
        int64_t steps = 0, last = INT64_MIN;  // number of a step
    };
    std::map<int64_t, OfRank> by_rank;  // where ranks have no step in common, each has some of them
    for (size_t i = 0; i < gpus_.size(); ++i) {
        OfRank& rank = by_rank[gpus_[i]->rank_id];
        rank.sum_ns += all[i];
        if (std::exchange(rank.last, gpus_[i]->number) != gpus_[i]->number) ++rank.steps;
    }
    double most_ns = 0;
    for (const auto& [id, rank] : by_rank)
        most_ns = std::max(most_ns, rank.sum_ns / static_cast<double>(rank.steps));
    return most_ns * scale_;
}

}  // namespace gpushim::analysis
