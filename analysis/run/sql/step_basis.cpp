#include "step_basis.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "../../sqlite/database.h"
#include "../../trace/work_bound.h"

namespace gpushim::analysis {

namespace {

using StepsByRank = std::unordered_map<int64_t, StepsOfRank>;
using GpusById = std::unordered_map<int64_t, BasisOfGpu>;

StepsByRank steps_that_count(sqlite3* run) {
    StepsByRank by_rank;
    StepsOfRank* rank = nullptr;
    int64_t rank_id = 0;
    Query counted(run, file_of(run),
                  "SELECT rank_id, step, coalesce(number, step), is_slice, begin_ns FROM v_counted_step"
                  " ORDER BY rank_id, step");
    while (counted.step()) {
        if (rank == nullptr || rank_id != counted.number(0)) rank = &by_rank[rank_id = counted.number(0)];
        rank->are_slices = counted.number(3) != 0;
        rank->add(counted.number(1), counted.number(2), counted.maybe(4));
    }
    return by_rank;
}

StepsByRank steps_that_count(const WrittenRun& written) {
    StepsByRank by_rank;
    for (const WrittenRank& one : written.ranks) {
        StepsOfRank& rank = by_rank[one.rank_id];
        rank.are_slices = one.are_slices;
        rank.steps.reserve(one.steps.size());
        for (const WrittenRank::Counted& step : one.steps) rank.add(step.step, step.number, step.begin_ns);
    }
    return by_rank;
}

GpusById gpus_of(sqlite3* run) {
    GpusById gpus;
    Query known(run, file_of(run),
                "SELECT gpu_id, rank_id, coalesce(latency_ns, 0), coalesce(kernel_gap_ns, 0),"
                " gpu_id IN (SELECT gpu_id FROM unlike_steps), gpu_id IN (SELECT gpu_id FROM v_unused_gpu),"
                " timed_until_ns FROM gpu");
    while (known.step())
        gpus[known.number(0)] = {known.number(1),      known.number(2),      known.number(3),
                                 known.number(4) != 0, known.number(5) != 0, known.maybe(6)};
    return gpus;
}

// Takes the rows of one GPU after the other, in order, and leaves those that its figures are of.
class BasisRows {
  public:
    BasisRows(const BasisFacts& facts, std::vector<GpuTotal>& totals) : facts_(facts), totals_(totals) {}

    void reserve(size_t rows) { rows_.reserve(rows); }  // growing takes up to three times as much
    GpuInStep& add(int64_t gpu_id, int64_t step) {
        if (first_ != rows_.size() && rows_.back().gpu_id != gpu_id) end_gpu();
        GpuInStep& row = rows_.emplace_back();
        row.gpu_id = gpu_id;
        row.number = row.step = step;
        return row;
    }
    std::vector<GpuInStep> finish() {
        if (first_ != rows_.size()) end_gpu();
        return std::move(rows_);
    }

  private:
    void end_gpu() {
        const int64_t gpu_id = rows_.back().gpu_id;
        const auto gpu = facts_.gpus.find(gpu_id);
        if (gpu == facts_.gpus.end() || gpu->second.is_unused) {
            rows_.resize(first_);
            return;
        }
        static const StepsOfRank kNone;
        const auto counted = facts_.ranks.find(gpu->second.rank_id);
        const char* const basis =
            leave_basis(gpu->second, counted == facts_.ranks.end() ? kNone : counted->second);
        if (rows_.size() != first_) totals_.push_back({gpu_id, basis});
        first_ = rows_.size();
    }
    const char* leave_basis(const BasisOfGpu& gpu, const StepsOfRank& counted);

    const BasisFacts& facts_;
    std::vector<GpuTotal>& totals_;
    std::vector<GpuInStep> rows_;
    size_t first_ = 0;  // of the GPU whose rows are taken
};

// What they are.
const char* BasisRows::leave_basis(const BasisOfGpu& gpu, const StepsOfRank& counted) {
    std::vector<const StepsOfRank::Counted*> counts;  // by row; null: it does not count
    auto next = counted.steps.begin();
    for (size_t i = first_; i < rows_.size(); ++i) {
        while (next != counted.steps.end() && next->step < rows_[i].step) ++next;
        const bool does = next != counted.steps.end() && next->step == rows_[i].step;
        counts.push_back(does ? &*next : nullptr);
    }
    const bool are_steps = !gpu.is_unlike && std::any_of(counts.begin(), counts.end(),
                                                         [](const auto* step) { return step != nullptr; });
    const bool has_basis = are_steps || !counted.begin_behind(gpu.timed_until_ns);
    size_t end = first_;
    for (size_t i = first_; i < rows_.size() && has_basis; ++i) {
        const StepsOfRank::Counted* const step = counts[i - first_];
        const bool is_span = !are_steps && (rows_[i].step < 0 || counted.steps.empty());
        if (step == nullptr && !is_span) continue;
        GpuInStep& row = rows_[end++] = rows_[i];
        row.rank_id = gpu.rank_id;
        row.latency_ns = gpu.latency_ns;
        row.kernel_gap_ns = gpu.kernel_gap_ns;
        if (are_steps) row.number = step->number;
    }
    rows_.resize(end);
    return !are_steps ? "spans" : counted.are_slices ? "slices" : "steps";
}

// Each GPU's go when they are taken.
void take_written(WrittenRun& written, BasisRows& rows) {
    size_t all = 0;
    for (const WrittenGpu& gpu : written.gpus) all += gpu.steps.size();
    rows.reserve(all);
    for (WrittenGpu& gpu : written.gpus)
        for (const WrittenGpu::InStep& step : std::exchange(gpu.steps, {})) {
            GpuInStep& row = rows.add(gpu.gpu_id, step.step);
            row.busy_low_ns = step.busy_low_ns;
            row.busy_high_ns = step.busy_high_ns;
            row.busy_likely_low_ns = step.busy_likely_low_ns;
            row.busy_likely_high_ns = step.busy_likely_high_ns;
        }
}

void take_read(sqlite3* run, BasisRows& rows) {
    Query all(run, file_of(run), "SELECT count(*) FROM gpu_step");
    if (all.step()) rows.reserve(static_cast<size_t>(all.number(0)));
    Query steps(run, file_of(run),
                "SELECT gpu_id, step, busy_low_ns, busy_high_ns, busy_likely_low_ns, busy_likely_high_ns"
                " FROM gpu_step ORDER BY gpu_id, step");
    while (steps.step()) {
        GpuInStep& row = rows.add(steps.number(0), steps.number(1));
        row.busy_low_ns = steps.number(2);
        row.busy_high_ns = steps.number(3);
        row.busy_likely_low_ns = steps.number(4);
        row.busy_likely_high_ns = steps.number(5);
    }
}

}  // namespace

void StepsOfRank::add(int64_t step, int64_t number, std::optional<int64_t> from_ns) {
    steps.push_back({step, number});
    if (from_ns && !are_slices) begin_ns = std::min(begin_ns.value_or(INT64_MAX), *from_ns);
}

bool StepsOfRank::begin_behind(std::optional<int64_t> timed_until_ns) const {
    return begin_ns && timed_until_ns && *begin_ns >= *timed_until_ns;
}

BasisFacts::BasisFacts(sqlite3* of) : run(of), ranks(steps_that_count(of)), gpus(gpus_of(of)) {}

BasisFacts::BasisFacts(sqlite3* of, WrittenRun& all)
    : run(of), written(&all), ranks(steps_that_count(all)), gpus(gpus_of(of)) {}

std::vector<GpuInStep> rows_of_basis(const BasisFacts& facts, std::vector<GpuTotal>& totals) {
    BasisRows rows(facts, totals);
    facts.written != nullptr ? take_written(*facts.written, rows) : take_read(facts.run, rows);
    return rows.finish();
}

}  // namespace gpushim::analysis
