#include "skew_cause.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "../../idle/cause.h"
#include "../../to_int64.h"
#include "../parts/nvml_samples.h"
#include "../sql/run_db.h"

namespace gpushim::analysis {

namespace {

constexpr double kAlike = 0.90;

// Of `activity.classes`.
constexpr int64_t kGraph = 256, kCompute = 1 | kGraph, kComm = 2 | 4;

enum Component : size_t { kInput, kHost, kCopy, kComputing, kStartDelay, kWait, kClocks, kComponents };
constexpr std::string_view kNames[] = {"input", "host", "copy", "compute", "start_delay", "wait", "clocks"};
static_assert(std::size(kNames) == kComponents);

std::optional<Component> component_of(std::string_view cause) {
    for (const CauseRow& row : kCauses) {
        if (row.name != cause) continue;
        switch (row.group) {
            case CauseGroup::input:
                return kInput;
            case CauseGroup::copy:
                return kCopy;
            case CauseGroup::wait:
                return kWait;
            case CauseGroup::host:
            case CauseGroup::sync:
            case CauseGroup::launch:
                return kHost;
            default:
                return {};
        }
    }
    return {};
}

std::optional<Component> component_of(int64_t classes) {
    if ((classes & kCompute) != 0) return kComputing;
    return classes == 0 || (classes & kComm) != 0 ? std::nullopt : std::optional(kCopy);
}

struct RankSteps {
    const TraceFacts* facts;
    int64_t gpu_id;
    int32_t shift;

    int32_t own(int32_t step) const { return step - shift; }
};

Query by_gpu(const RunDb& run, const char* sql, int64_t gpu_id) {
    Query query(run.raw(), "run", sql);
    query.bind(1, gpu_id);
    return query;
}

// In the first trace's numbers.
std::set<int32_t> steps_of(const RunDb& run, const RankSteps& rank) {
    std::set<int32_t> steps;
    Query query = by_gpu(run, "SELECT step FROM gpu_step WHERE gpu_id = ?1 AND step >= 0", rank.gpu_id);
    while (query.step())
        if (const auto step = static_cast<int32_t>(query.number(0)); counts(*rank.facts, step))
            steps.insert(step + rank.shift);
    return steps;
}

struct RankSums {
    int64_t length_ns = 0, own_ns = 0, start_delay_ns = 0;
    bool knows_delay = true, has_graphs = false;
    std::array<int64_t, kComponents> ns{};
};

RankSums sums_of(const RunDb& run, const RankSteps& rank, const std::set<int32_t>& steps) {
    RankSums sums;
    const auto each = [&](const char* sql, auto take) {
        Query query = by_gpu(run, sql, rank.gpu_id);
        while (query.step())
            if (steps.contains(static_cast<int32_t>(query.number(0)) + rank.shift)) take(query);
    };
    each("SELECT step, own_work_ns, window_ns FROM gpu_step WHERE gpu_id = ?1 AND step >= 0",
         [&](const Query& row) { sums.own_ns += row.number(1), sums.length_ns += row.number(2); });
    each("SELECT step, classes, ns FROM activity WHERE gpu_id = ?1 AND step >= 0", [&](const Query& row) {
        if (const auto component = component_of(row.number(1))) sums.ns[*component] += row.number(2);
        sums.has_graphs |= (row.number(1) & kGraph) != 0;
    });
    each("SELECT step, cause, ns FROM gap WHERE gpu_id = ?1 AND step >= 0", [&](const Query& row) {
        if (const auto component = component_of(row.text(1))) sums.ns[*component] += row.number(2);
    });
    each("SELECT step, start_delay_ns FROM comm_step WHERE gpu_id = ?1", [&](const Query& row) {
        sums.knows_delay &= !row.is_null(1);
        sums.start_delay_ns += row.number(1);
    });
    return sums;
}

// The GPU computed while a collective could have started: that is not what made the collective late.
void split_off_start_delay(std::vector<RankSums>& sums) {
    if (!std::all_of(sums.begin(), sums.end(), [](const RankSums& one) { return one.knows_delay; })) return;
    for (RankSums& one : sums) {
        one.ns[kStartDelay] = std::min(one.start_delay_ns, one.ns[kComputing]);
        one.ns[kComputing] -= one.ns[kStartDelay];
    }
}

// While it computed: an idle GPU lowers its clock.
std::optional<double> mean_clock_mhz(const CommSeat& seat, const RankSteps& rank,
                                     const std::set<int32_t>& steps) {
    if (!seat.facts->trace->base.has("nvml")) return {};
    const auto step_of = [&](int32_t step) -> const Step& {
        return seat.facts->steps[static_cast<size_t>(rank.own(step))];
    };
    Query query = seat.facts->trace->base.prepare(
        "SELECT max(CASE WHEN key = 'sm_mhz' THEN value END),"
        " CAST(max(CASE WHEN key = 'throttle_reasons' THEN value END) AS INTEGER) FROM nvml"
        " WHERE device_id = ?1 AND mono_ns BETWEEN ?2 AND ?3 GROUP BY mono_ns");
    query.bind(1, seat.device_id);
    query.bind(2, step_of(*steps.begin()).begin_ns);
    query.bind(3, step_of(*steps.rbegin()).end_ns);
    double sum = 0, count = 0;
    while (query.step()) {
        if (query.is_null(0) || nothing_ran(query.number(1))) continue;
        sum += query.real(0);
        ++count;
    }
    return count > 0 ? std::optional(sum / count) : std::nullopt;
}

// Compute takes the longer the slower the clock is; so much of it is the clock's.
void split_off_clocks(const std::vector<std::optional<double>>& mhz, std::vector<RankSums>& sums) {
    std::vector<double> known;
    for (const auto& one : mhz)
        if (one && *one > 0) known.push_back(*one);
    if (known.size() != mhz.size()) return;
    std::sort(known.begin(), known.end());
    const double usual = known[known.size() / 2];
    for (size_t i = 0; i < sums.size(); ++i) {
        int64_t& computing_ns = sums[i].ns[kComputing];
        const double slower = std::max(0.0, 1 - *mhz[i] / usual);
        sums[i].ns[kClocks] = to_int64(slower * static_cast<double>(computing_ns));
        computing_ns -= sums[i].ns[kClocks];
    }
}

std::vector<RankSteps> ranks_of(const CollectiveRun& all, const RunCommunicator& comm) {
    std::vector<RankSteps> ranks;
    for (const CommSeat& seat : comm.seats) {
        const Gpu* gpu = seat.gpu();
        const auto trace = std::find(all.traces.begin(), all.traces.end(), seat.facts);
        if (gpu == nullptr || trace == all.traces.end()) return {};
        ranks.push_back({seat.facts, gpu->gpu_id,
                         all.step_shifts[static_cast<size_t>(trace - all.traces.begin())].steps});
    }
    return ranks;
}

std::set<int32_t> steps_of_all(const RunDb& run, const std::vector<RankSteps>& ranks) {
    std::set<int32_t> common;
    for (size_t i = 0; i < ranks.size(); ++i) {
        std::set<int32_t> steps = steps_of(run, ranks[i]);
        if (i > 0) std::erase_if(steps, [&](int32_t step) { return !common.contains(step); });
        common = std::move(steps);
    }
    return common;
}

using Weights = std::map<std::string, double>;  // share of the time, by kernel

Weights weights_of(const RunDb& run, const Gpu* gpu) {
    Weights weights;
    if (gpu == nullptr) return weights;
    Query query = by_gpu(run,
                         "SELECT name, coalesce(sum_ns, 0) FROM kernel WHERE gpu_id = ?1"
                         " AND coalesce(comm_source, 'none') = 'none'",
                         gpu->gpu_id);
    double sum = 0;
    while (query.step()) sum += weights[query.text(0)] = query.real(1);
    if (sum <= 0) return {};
    for (auto& [name, weight] : weights) weight /= sum;
    return weights;
}

double in_common(const Weights& one, const Weights& other) {
    double sum = 0;
    for (const auto& [name, weight] : one) sum += other.contains(name) ? weight : 0;
    return sum;
}

}  // namespace

RankParts rank_parts(const CollectiveRun& all, const RunCommunicator& comm, const RunDb& run) {
    RankParts result;
    const std::vector<RankSteps> ranks = ranks_of(all, comm);
    const std::set<int32_t> steps = steps_of_all(run, ranks);
    if (steps.empty()) return result;
    std::vector<RankSums> sums;
    std::vector<std::optional<double>> mhz;
    for (size_t i = 0; i < ranks.size(); ++i) {
        sums.push_back(sums_of(run, ranks[i], steps));
        mhz.push_back(mean_clock_mhz(comm.seats[i], ranks[i], steps));
    }
    result.steps = steps.size();
    for (const RankSums& rank : sums) {
        result.length_ns.push_back(rank.length_ns);
        result.own_ns.push_back(rank.own_ns);
        result.computing_ns.push_back(rank.ns[kComputing]);
        result.has_graphs |= rank.has_graphs;
    }
    split_off_start_delay(sums);
    split_off_clocks(mhz, sums);
    for (size_t component = 0; component < kComponents; ++component) {
        WorkPart part = {kNames[component], {}};
        for (const RankSums& rank : sums) part.by_rank_ns.push_back(rank.ns[component]);
        result.parts.push_back(std::move(part));
    }
    return result;
}

std::vector<uint64_t> kernel_fingerprints(const RunCommunicator& comm, const RunDb& run) {
    std::vector<Weights> first_of_kind;
    std::vector<uint64_t> fingerprints;
    for (const CommSeat& seat : comm.seats) {
        const Weights weights = weights_of(run, seat.gpu());
        const auto found = std::find_if(first_of_kind.begin(), first_of_kind.end(), [&](const Weights& one) {
            return (one.empty() && weights.empty()) ||
                   std::min(in_common(one, weights), in_common(weights, one)) >= kAlike;
        });
        fingerprints.push_back(static_cast<uint64_t>(found - first_of_kind.begin()));
        if (found == first_of_kind.end()) first_of_kind.push_back(weights);
    }
    return fingerprints;
}

}  // namespace gpushim::analysis
