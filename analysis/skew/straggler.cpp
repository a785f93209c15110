#include "straggler.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace gpushim::analysis {

namespace {

constexpr double kChance = 0.001;          // p-value below which it is not chance
constexpr double kWorthMentioning = 0.01;  // of the step time
constexpr double kMirrorTolerance = 0.20;
constexpr double kMostOfIt = 0.80;

int64_t largest_own_ns(const WorkBefore& work) {
    int64_t largest = INT64_MIN;
    for (const RankWork& rank : work.ranks) largest = std::max(largest, rank.own_ns);
    return largest;
}

WorkBefore work_between(const CollectiveInstance& before, const CollectiveInstance& after, int64_t step) {
    WorkBefore work = {step, {}, {}};
    work.ranks.reserve(after.parts.size());
    for (size_t rank = 0; rank < after.parts.size(); ++rank) {
        const Interval& span = *after.parts[rank].device;
        work.ranks.push_back({span.start_ns - before.parts[rank].device->end_ns, span.length_ns()});
    }
    return work;
}

// A rank that is so much quicker than the slowest should wait for so long.
double mirror_disagreement(std::span<const WorkBefore> work) {
    int64_t off_ns = 0, expected_ns = 0, wait_ns = 0;
    for (const WorkBefore& one : work) {
        const int64_t largest = largest_own_ns(one);
        for (size_t rank = 0; rank < one.ranks.size(); ++rank) {
            const int64_t should_wait = largest - one.ranks[rank].own_ns;
            off_ns += std::abs(should_wait - one.wait_ns(rank));
            expected_ns += should_wait;
            wait_ns += one.wait_ns(rank);
        }
    }
    const int64_t all_ns = std::max(expected_ns, wait_ns);
    return all_ns == 0 ? 0 : static_cast<double>(off_ns) / static_cast<double>(all_ns);
}

// Own work of each step by rank.
std::map<int64_t, std::vector<int64_t>> by_step(std::span<const WorkBefore> work) {
    std::map<int64_t, std::vector<int64_t>> steps;
    for (const WorkBefore& one : work) {
        std::vector<int64_t>& sums = steps[one.step];
        sums.resize(one.ranks.size());
        for (size_t rank = 0; rank < one.ranks.size(); ++rank) sums[rank] += one.ranks[rank].own_ns;
    }
    return steps;
}

// Alone: where two share the first place nobody has it.
bool is_largest(const std::vector<int64_t>& own_ns, int rank, std::span<const int> compared) {
    return std::all_of(compared.begin(), compared.end(), [&](int other) {
        return other == rank || own_ns[static_cast<size_t>(other)] < own_ns[static_cast<size_t>(rank)];
    });
}

RankBlame blame_of(int rank, std::span<const WorkBefore> work,
                   const std::map<int64_t, std::vector<int64_t>>& steps, std::span<const int> compared) {
    RankBlame blame = {rank, 0, 0, 1, 0, 0};
    for (const WorkBefore& one : work) {
        blame.saved_ns += one.saved_ns(static_cast<size_t>(rank));
        blame.late_sum_ns += one.late_ns(static_cast<size_t>(rank));
        blame.wait_sum_ns += one.wait_ns(static_cast<size_t>(rank));
    }
    for (const auto& [step, own_ns] : steps) blame.largest_steps += is_largest(own_ns, rank, compared);
    blame.p_value = binomial_tail(static_cast<int64_t>(steps.size()), blame.largest_steps,
                                  1 / static_cast<double>(compared.size()));
    return blame;
}

bool costs_enough(const RankBlame& blame, int64_t steps, int64_t step_time_ns) {
    const auto all_ns = static_cast<double>(steps * step_time_ns);
    return static_cast<double>(blame.saved_ns) > kWorthMentioning * all_ns;
}

bool is_straggler(const RankBlame& blame, int64_t steps, int64_t step_time_ns) {
    return blame.p_value < kChance && costs_enough(blame, steps, step_time_ns);
}

// Always last, and yet it may be chance.
bool is_suspect(const RankBlame& blame, int64_t steps, int64_t step_time_ns) {
    return blame.p_value >= kChance && blame.largest_steps == steps &&
           costs_enough(blame, steps, step_time_ns);
}

// Of the ranks but one.
int64_t median_of_others(std::span<const int64_t> values, size_t except) {
    std::vector<int64_t> others(values.begin(), values.end());
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(except));
    std::sort(others.begin(), others.end());
    return std::midpoint(others[(others.size() - 1) / 2], others[others.size() / 2]);
}

}  // namespace

bool is_timed(const CollectiveInstance& instance) {
    const auto timed = [](const RankPart& part) { return part.device.has_value(); };
    return is_barrier_like(instance.op) && instance.complete() && !instance.aborted &&
           !instance.shares_kernel && std::all_of(instance.parts.begin(), instance.parts.end(), timed);
}

int64_t WorkBefore::late_ns(size_t rank) const {
    int64_t least = INT64_MAX;
    for (const RankWork& one : ranks) least = std::min(least, one.own_ns);
    return ranks[rank].own_ns - least;
}

int64_t WorkBefore::wait_ns(size_t rank) const {
    int64_t shortest = INT64_MAX;
    for (const RankWork& one : ranks) shortest = std::min(shortest, one.duration_ns);
    return ranks[rank].duration_ns - shortest;
}

int64_t WorkBefore::wait_sum_ns() const {
    int64_t sum_ns = 0;
    for (size_t rank = 0; rank < ranks.size(); ++rank) sum_ns += wait_ns(rank);
    return sum_ns;
}

int64_t WorkBefore::saved_ns(size_t rank) const {
    if (!replayed_ns.empty()) return replayed_ns[rank];
    if (ranks.size() < 2) return 0;
    int64_t next = INT64_MIN;
    for (size_t other = 0; other < ranks.size(); ++other)
        if (other != rank) next = std::max(next, ranks[other].own_ns);
    return std::max<int64_t>(0, ranks[rank].own_ns - next);
}

std::optional<WorkBefore> own_work(const CollectiveInstance& before, const CollectiveInstance& after,
                                   int64_t step) {
    const bool follow_each_other = before.replays == 1 && place_of(before) + before.calls == place_of(after);
    if (!follow_each_other || !is_timed(before) || !is_timed(after)) return {};
    return work_between(before, after, step);
}

Blame blame(std::span<const WorkBefore> work, int64_t step_time_ns, std::span<const int> compared) {
    Blame result = {0, 0, mirror_disagreement(work), false, {}, {}, {}};
    result.mirror_broken = result.mirror_disagreement > kMirrorTolerance;
    if (work.empty()) return result;
    std::vector<int> ranks(compared.begin(), compared.end());
    if (ranks.empty()) {
        ranks.resize(work.front().ranks.size());
        std::iota(ranks.begin(), ranks.end(), 0);
    }
    const auto steps = by_step(work);
    result.steps = static_cast<int64_t>(steps.size());
    for (const WorkBefore& one : work) result.lost_gpu_ns += one.wait_sum_ns();
    for (const int rank : ranks) result.ranks.push_back(blame_of(rank, work, steps, ranks));
    for (const RankBlame& one : result.ranks)
        if (ranks.size() > 1 && is_straggler(one, result.steps, step_time_ns) &&
            (!result.straggler || one.saved_ns > result.straggler->saved_ns))
            result.straggler = one;
    for (const RankBlame& one : result.ranks)
        if (ranks.size() > 1 && is_suspect(one, result.steps, step_time_ns)) result.suspect = one;
    return result;
}

int64_t fewest_steps(size_t ranks) {
    return static_cast<int64_t>(std::floor(std::log(kChance) / std::log(1 / static_cast<double>(ranks)))) + 1;
}

std::vector<Transient> transient_stragglers(std::span<const WorkBefore> work, int64_t step_time_ns,
                                            std::span<const int> compared) {
    std::vector<Transient> found;
    for (size_t from = 0; from < work.size();) {
        const int64_t first_step = work[from].step;
        size_t to = from;
        while (to < work.size() && work[to].step < first_step + kTransientSteps) ++to;
        const Blame window = blame(work.subspan(from, to - from), step_time_ns, compared);
        if (window.straggler) found.push_back({first_step, work[to - 1].step, *window.straggler});
        from = to;
    }
    return found;
}

std::vector<std::vector<int>> comparable_ranks(std::span<const uint64_t> fingerprints) {
    std::map<uint64_t, std::vector<int>> groups;
    for (size_t rank = 0; rank < fingerprints.size(); ++rank)
        groups[fingerprints[rank]].push_back(static_cast<int>(rank));
    std::vector<std::vector<int>> result;
    for (auto& [fingerprint, ranks] : groups) result.push_back(std::move(ranks));
    std::sort(result.begin(), result.end());
    return result;
}

double binomial_tail(int64_t trials, int64_t hits, double p) {
    if (hits <= 0 || p >= 1) return 1;
    if (hits > trials || p <= 0) return 0;
    // The first term as a logarithm: it may be far below what a double holds.
    double log_term = static_cast<double>(hits) * std::log(p);
    log_term += static_cast<double>(trials - hits) * std::log1p(-p);
    for (int64_t i = 1; i <= hits; ++i)
        log_term += std::log(static_cast<double>(trials - hits + i) / static_cast<double>(i));
    const double odds = p / (1 - p);
    double sum = 1, term = 1;  // relative to the first
    for (int64_t k = hits; k < trials && term > sum * 1e-17; ++k) {
        term *= odds * static_cast<double>(trials - k) / static_cast<double>(k + 1);
        sum += term;
    }
    return std::min(1.0, std::exp(log_term + std::log(sum)));
}

std::optional<StragglerCause> cause_of(size_t rank, std::span<const int64_t> own_by_rank_ns,
                                       std::span<const WorkPart> parts) {
    if (own_by_rank_ns.size() < 2) return {};
    const int64_t late_ns = own_by_rank_ns[rank] - median_of_others(own_by_rank_ns, rank);
    if (late_ns <= 0) return {};
    StragglerCause cause = {"unattributed", 0};
    for (const WorkPart& part : parts) {
        const int64_t excess_ns = part.by_rank_ns[rank] - median_of_others(part.by_rank_ns, rank);
        const double share = static_cast<double>(excess_ns) / static_cast<double>(late_ns);
        if (share <= cause.share) continue;
        cause = {share >= kMostOfIt ? part.name : "unattributed", share};
    }
    return cause;
}

}  // namespace gpushim::analysis
