#include "step_basis.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "../../sqlite/database.h"
#include "../../trace/work_bound.h"

namespace gpushim::analysis {

namespace {

struct StepsOfRank {  // that count
    struct Counted {
        int64_t step, number;
    };
    std::vector<Counted> steps = {};  // in order
    bool are_slices = false;
    std::optional<int64_t> begin_ns = {};  // of the first one, of slices none

    const Counted* find(int64_t step) const {
        const auto found =
            std::lower_bound(steps.begin(), steps.end(), step,
                             [](const Counted& one, int64_t asked) { return one.step < asked; });
        return found != steps.end() && found->step == step ? &*found : nullptr;
    }
    // All windows were over by then: start-up and warm-up say nothing of steps.
    bool begin_behind(std::optional<int64_t> timed_until_ns) const {
        return begin_ns && timed_until_ns && *begin_ns >= *timed_until_ns;
    }
};

std::unordered_map<int64_t, StepsOfRank> steps_that_count(sqlite3* run) {
    std::unordered_map<int64_t, StepsOfRank> by_rank;
    StepsOfRank* rank = nullptr;
    int64_t rank_id = 0;
    Query counted(run, file_of(run),
                  "SELECT rank_id, step, coalesce(number, step), is_slice, begin_ns FROM v_counted_step"
                  " ORDER BY rank_id, step");
    while (counted.step()) {
        if (rank == nullptr || rank_id != counted.number(0)) rank = &by_rank[rank_id = counted.number(0)];
        rank->steps.push_back({counted.number(1), counted.number(2)});
        rank->are_slices = counted.number(3) != 0;
        const auto begin_ns = rank->are_slices ? std::nullopt : counted.maybe(4);
        if (begin_ns) rank->begin_ns = std::min(rank->begin_ns.value_or(INT64_MAX), *begin_ns);
    }
    return by_rank;
}

struct OfGpu {
    int64_t rank_id = -1, latency_ns = 0, kernel_gap_ns = 0;
    bool is_unlike = false;  // its steps, to most
    bool is_unused = false;
    std::optional<int64_t> timed_until_ns = {};
};

std::unordered_map<int64_t, OfGpu> gpus_of(sqlite3* run) {
    std::unordered_map<int64_t, OfGpu> gpus;
    Query known(run, file_of(run),
                "SELECT gpu_id, rank_id, coalesce(latency_ns, 0), coalesce(kernel_gap_ns, 0),"
                " gpu_id IN (SELECT gpu_id FROM unlike_steps), gpu_id IN (SELECT gpu_id FROM v_unused_gpu),"
                " timed_until_ns FROM gpu");
    while (known.step())
        gpus[known.number(0)] = {known.number(1),      known.number(2),      known.number(3),
                                 known.number(4) != 0, known.number(5) != 0, known.maybe(6)};
    return gpus;
}

// Of a GPU's rows, from the first on, leaves those that its figures are of; what these are.
const char* leave_basis(std::vector<GpuInStep>& rows, size_t first, const OfGpu& gpu,
                        const StepsOfRank& counted) {
    std::vector<const StepsOfRank::Counted*> counts;  // by row; null: it does not count
    for (size_t i = first; i < rows.size(); ++i) counts.push_back(counted.find(rows[i].step));
    const bool are_steps = !gpu.is_unlike && std::any_of(counts.begin(), counts.end(),
                                                         [](const auto* step) { return step != nullptr; });
    const bool has_basis = are_steps || !counted.begin_behind(gpu.timed_until_ns);
    size_t end = first;
    for (size_t i = first; i < rows.size() && has_basis; ++i) {
        const StepsOfRank::Counted* const step = counts[i - first];
        const bool is_span = !are_steps && (rows[i].step < 0 || counted.steps.empty());
        if (step == nullptr && !is_span) continue;
        GpuInStep& row = rows[end++] = rows[i];
        row.rank_id = gpu.rank_id;
        row.latency_ns = gpu.latency_ns;
        row.kernel_gap_ns = gpu.kernel_gap_ns;
        if (are_steps) row.number = step->number;
    }
    rows.resize(end);
    return !are_steps ? "spans" : counted.are_slices ? "slices" : "steps";
}

}  // namespace

std::vector<GpuInStep> rows_of_basis(sqlite3* run, std::vector<GpuTotal>& totals) {
    std::vector<GpuInStep> rows;
    Query all(run, file_of(run), "SELECT count(*) FROM gpu_step");
    if (all.step())
        rows.reserve(static_cast<size_t>(all.number(0)));  // growing takes up to three times as much
    const std::unordered_map<int64_t, StepsOfRank> counted = steps_that_count(run);
    const std::unordered_map<int64_t, OfGpu> gpus = gpus_of(run);
    Query steps(run, file_of(run),
                "SELECT gpu_id, step, busy_low_ns, busy_high_ns, busy_likely_low_ns, busy_likely_high_ns"
                " FROM gpu_step ORDER BY gpu_id, step");
    for (bool more = steps.step(); more;) {
        const size_t first = rows.size();
        const int64_t gpu_id = steps.number(0);
        for (; more && steps.number(0) == gpu_id; more = steps.step()) {
            GpuInStep& row = rows.emplace_back();
            row.gpu_id = gpu_id;
            row.number = row.step = steps.number(1);
            row.busy_low_ns = steps.number(2);
            row.busy_high_ns = steps.number(3);
            row.busy_likely_low_ns = steps.number(4);
            row.busy_likely_high_ns = steps.number(5);
        }
        const auto gpu = gpus.find(gpu_id);
        if (gpu == gpus.end() || gpu->second.is_unused) {
            rows.resize(first);
            continue;
        }
        const auto that_count = counted.find(gpu->second.rank_id);
        static const StepsOfRank kNone;
        const char* const basis =
            leave_basis(rows, first, gpu->second, that_count == counted.end() ? kNone : that_count->second);
        if (rows.size() != first) totals.push_back({gpu_id, basis});
    }
    return rows;
}

}  // namespace gpushim::analysis
