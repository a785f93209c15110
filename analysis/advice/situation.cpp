#include "situation.h"

#include <algorithm>
#include <cmath>

#include "../run/sql/python_places.h"

namespace gpushim::analysis {

Situation::Situation(sqlite3* run, std::shared_ptr<const CountedSteps> basis, const Given& given)
    : run_(run),
      given_(given),
      basis_(std::move(basis)),
      what_if_(*basis_),
      usual_input_ns_(what_if_.usual_by_rank_ns(kInputCauses)),
      ecosystem_(ecosystem_of(run)),
      serving_(run),
      unlike_sample_(gpushim::analysis::unlike_sample(run)) {
    gpus_ = number(
                "SELECT count(DISTINCT coalesce(uuid, CAST(gpu_id AS TEXT))) FROM gpu"
                " WHERE gpu_id NOT IN (SELECT gpu_id FROM v_unused_gpu)")
                .value_or(0);
    ranks_ = number("SELECT count(*) FROM rank").value_or(0);
    // Without steps figures are of slices. Where all was timed these reach from the first operation to the
    // last, and everything lies in them: the time before and after is that of no operation.
    Query gpus = ask("SELECT gpu_id, run_ns, timed_share >= 0.999 AND coverage >= 0.999 FROM gpu");
    while (gpus.step()) {
        const GpuTotal* total = gpus.number(2) != 0 ? basis_->total_of(gpus.number(0)) : nullptr;
        const int64_t timed_ns =
            total != nullptr && total->basis == "slices" ? total->ns(WhatRan::window) : 0;
        run_ns_ = std::max(run_ns_, timed_ns > 0 ? static_cast<double>(timed_ns) : gpus.real(1));
    }
    all_steps_ = basis_->whole_steps().value_or(0);
    // The host may be so far ahead that its steps are no measure of a GPU's.
    const double host_ns = real("SELECT sum(1.0 * dur_ns) / sum(steps) FROM step_sum").value_or(0);
    const double kernels_ns =
        real(
            "SELECT max(ns) FROM (SELECT sum(1.0 * timed_ns / timed * executed) AS ns FROM v_kernel_work"
            " WHERE timed > 0 GROUP BY gpu_id)")
            .value_or(0);
    // Kernels before the first step are no step's, and two that run at once take the time of one.
    const double since_ns =
        real(
            "SELECT max(r.last_ns - (SELECT c.begin_ns FROM v_counted_step c WHERE c.rank_id = r.rank_id"
            " AND c.is_slice = 0 ORDER BY c.step LIMIT 1)) FROM rank r")
            .value_or(kernels_ns);
    if (all_steps_ > 0 && host_ns > 0)
        each_step_ns_ = std::max(host_ns, std::min(kernels_ns, since_ns) / all_steps_);
    what_if_.take_as_steps_of(each_step_ns_);
}

std::optional<double> Situation::real(std::string_view sql) const {
    Query row = ask(sql);
    if (!row.step() || row.is_null(0)) return {};
    return row.real(0);
}

std::optional<int64_t> Situation::number(std::string_view sql) const {
    Query row = ask(sql);
    return row.step() ? row.maybe(0) : std::nullopt;
}

std::optional<double> Situation::metric(std::string_view name) const {
    Query row = ask("SELECT max(value) FROM metric WHERE name = ?1");
    row.bind(1, std::string(name));
    if (!row.step() || row.is_null(0)) return {};
    return row.real(0);
}

std::vector<Evidence> Situation::rows(const char* table, std::string_view sql) const {
    std::vector<Evidence> found;
    Query row = ask(sql);
    while (row.step()) found.push_back({table, row.number(0)});
    return found;
}

double Situation::counted(double whole_run) const {
    // What was timed lies in steps, be it in none as a whole: a start-up is in neither.
    if (is_per_step()) return all_steps_ > 0 ? whole_run / all_steps_ : 0;
    return run_ns_ > 0 ? whole_run * step_ns() / run_ns_ : 0;
}

double Situation::input_ns(const GpuInStep& gpu) const {
    constexpr Causes kFollowed = {"input_cpu", "input_wait"};
    const auto usual = usual_input_ns_.find(gpu.rank_id);
    const double most_ns = usual == usual_input_ns_.end() ? 0 : kUnusual * usual->second;
    return gpu.idle_ns({"input_loading"}) + std::min(most_ns, gpu.idle_ns(kFollowed));
}

double Situation::more_than_input_ns(const GpuInStep& gpu) const {
    return std::max(0.0, gpu.idle_ns(kInputCauses) - input_ns(gpu));
}

double Situation::reads_each() const {
    // What comes in each fourth step, metrics that are printed, is in no step what a mean says.
    const auto recorded = basis_->recorded_steps();
    const std::string in_most =
        is_per_step() && recorded ? " AND coalesce(2 * steps >= " + std::to_string(*recorded) + ", 1)" : "";
    return counted(
        real("SELECT max(count * 1.0) FROM transfer_pattern WHERE pattern = 'small_d2h_sync'" + in_most)
            .value_or(0));
}

bool Situation::reads_every_step() const {
    constexpr double kEvery = 0.5, kOthersForOne = 3;
    // But those of copies to the device: a framework waits for each that is pageable. Of one of its GPUs.
    const double others = counted(
        real("SELECT max(n / gpus) FROM (SELECT sum(max(0, in_steps - coalesce(after_small_d2h, 0))) * 1.0 -"
             " coalesce((SELECT sum(c.count) FROM copy_stat c JOIN gpu u USING (gpu_id) WHERE u.rank_id ="
             " s.rank_id AND c.kind = 'h2d' AND c.steps > 0), 0) AS n, max(1, (SELECT count(*) FROM gpu u"
             " WHERE u.rank_id = s.rank_id)) AS gpus FROM sync_stat s GROUP BY rank_id)")
            .value_or(0));
    const double reads = reads_each();
    return reads >= kEvery && kOthersForOne * reads >= others;
}

namespace {

// Idle time of some causes on a GPU, by slices: how much there is, how much of it early, and in how many
// stretches most of it is. Slices that are full of it are one stretch, unless the GPU worked in between: a
// program that allocates for each kernel fills them, too.
class Stretches {
  public:
    void add(const GpuInStep& slice, Causes causes, bool is_early) {
        const double ns = slice.idle_ns(causes);
        all_ns_ += ns;
        early_ns_ += is_early ? ns : 0;
        const bool is_one = slice.busy_ns == 0 || slice.longest_ns(causes) > ns / 2;
        if (is_one && ns >= kFull * static_cast<double>(slice.window_ns)) {
            open_ns_ += ns;
            return;
        }
        close();
        int64_t pieces = 0;
        for (const IdlePart& part : slice.idle) pieces += causes.has(part.cause) ? part.pieces : 0;
        if (pieces > 0) squares_ += ns * ns / static_cast<double>(pieces);
    }
    void close() {
        squares_ += open_ns_ * open_ns_;
        open_ns_ = 0;
    }
    bool are_early() const { return early_ns_ > all_ns_ / 2; }
    bool are_few() const { return squares_ > 0 && all_ns_ * all_ns_ / squares_ <= kFew; }

  private:
    static constexpr double kFull = 0.9, kFew = 20;
    double all_ns_ = 0, early_ns_ = 0, open_ns_ = 0, squares_ = 0;
};

}  // namespace

bool Situation::may_be_start(Causes causes) const {
    constexpr int64_t kFifth = 5;
    if (has_steps()) return what_if_.steps() < 2;
    std::map<int64_t, int64_t> slices;
    for (const GpuInStep& slice : basis_->rows())
        slices[slice.gpu_id] = std::max(slices[slice.gpu_id], slice.step);
    std::map<int64_t, Stretches> by_gpu;
    for (const GpuInStep& slice : basis_->rows())
        by_gpu[slice.gpu_id].add(slice, causes, slice.step * kFifth <= slices[slice.gpu_id]);
    return std::all_of(by_gpu.begin(), by_gpu.end(), [](auto& gpu) {
        gpu.second.close();
        return gpu.second.are_early() || gpu.second.are_few();
    });
}

std::map<int64_t, double> Situation::only_copies_ns() const {
    std::map<int64_t, double> by_gpu;
    for (const GpuTotal& total : basis_->totals())
        by_gpu[total.gpu_id] = total.real(WhatRan::only_copy) / total.real(WhatRan::window) * step_ns();
    return by_gpu;
}

std::string Situation::seen_in(Causes causes) const {
    constexpr int64_t kFewest = 3;
    const auto places = python_places(run_, &causes, 1);
    if (!places.empty() && places[0].samples >= kFewest)
        return "by " + places[0].count_text() + " in " + places[0].name() + places[0].inside_text();
    return in_range(causes);
}

std::string Situation::in_range(Causes causes) const {
    const auto range = range_of(causes);
    if (!range) return {};
    return std::to_string(std::lround(100 * range->idle_share)) + " % of it in its own range \"" +
           range->name + "\"";
}

std::optional<IdleRange> Situation::range_of(Causes causes) const {
    constexpr double kMostOfIt = 0.5;
    const auto ranges = idle_ranges(run_, &causes, 1);
    return ranges.empty() || ranges[0].idle_share < kMostOfIt ? std::nullopt : std::optional(ranges[0]);
}

std::vector<Evidence> Situation::gaps_of(Causes causes) const {
    std::vector<Evidence> found;
    for (const int64_t rowid : basis_->largest_gaps(causes)) found.push_back({"gap", rowid});
    return found;
}

}  // namespace gpushim::analysis
