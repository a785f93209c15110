#include "counted_steps.h"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "../../parallel/in_parallel.h"
#include "../../sqlite/database.h"
#include "../../trace/work_bound.h"
#include "step_basis.h"

namespace gpushim::analysis {

namespace {

// Classes of activity: see its table.
constexpr int64_t kTransfers = 2, kPeerWaits = 4, kCollectives = 6, kKernels = 257, kCopies = 632;

constexpr bool is_of(WhatRan ran, int64_t classes) {
    switch (ran) {
        case WhatRan::window:
            return true;
        case WhatRan::busy:
            return classes > 0;
        case WhatRan::idle:
            return classes == 0;
        case WhatRan::waiting_for_peer:
            return (classes & kPeerWaits) != 0 && (classes & kKernels) == 0;
        case WhatRan::productive:
            return (classes & kKernels) != 0;
        case WhatRan::unhidden_transfer:
            return (classes & kKernels) == 0 && (classes & kCollectives) == kTransfers;
        case WhatRan::memory:
            return classes != 0 && (classes & (kKernels | kCollectives)) == 0;
        case WhatRan::compute:
            return (classes & kKernels) != 0;
        case WhatRan::copy:
            return (classes & kCopies) != 0;
        case WhatRan::comm:
            return (classes & kCollectives) != 0;
        case WhatRan::exposed_comm:
            return (classes & kCollectives) != 0 && (classes & ~kCollectives) == 0;
        case WhatRan::only_copy:
            return (classes & kCopies) != 0 && (classes & ~kCopies) == 0;
        case WhatRan::transfer:
            return (classes & kTransfers) != 0;
        case WhatRan::exposed_transfer:
            return (classes & kTransfers) != 0 && (classes & ~kCollectives) == 0;
        case WhatRan::compute_beside_no:
            return (classes & kKernels) != 0 && (classes & kTransfers) == 0;
        case WhatRan::count:
            break;
    }
    return false;
}

// Finds the row of a GPU and step; rows are asked for nearly in their order.
template <class Row>
class RowFinder {
  public:
    explicit RowFinder(std::span<Row> rows) : rows_(rows) {}
    Row* find(int64_t gpu_id, int64_t step) {
        for (size_t next = last_; next < std::min(rows_.size(), last_ + 2); ++next)
            if (is(next, gpu_id, step)) return &rows_[last_ = next];
        const auto found = std::lower_bound(
            rows_.begin(), rows_.end(), std::pair(gpu_id, step),
            [](const GpuInStep& row, const auto& key) { return std::pair(row.gpu_id, row.step) < key; });
        const auto place = static_cast<size_t>(found - rows_.begin());
        return place < rows_.size() && is(place, gpu_id, step) ? &rows_[last_ = place] : nullptr;
    }

  private:
    bool is(size_t place, int64_t gpu_id, int64_t step) const {
        return rows_[place].gpu_id == gpu_id && rows_[place].step == step;
    }
    std::span<Row> rows_;
    size_t last_ = 0;
};
using Rows = std::span<GpuInStep>;

template <class Total>
Total* of_gpu(std::span<Total> totals, int64_t gpu_id) {
    const auto found = std::lower_bound(totals.begin(), totals.end(), gpu_id,
                                        [](const GpuTotal& total, int64_t id) { return total.gpu_id < id; });
    return found != totals.end() && found->gpu_id == gpu_id ? &*found : nullptr;
}

void do_in(sqlite3* run, const std::string& statement) { Query(run, file_of(run), statement).step(); }

// Whether these are all rows that there are.
bool is_whole(sqlite3* run, const WrittenRun& written) {
    size_t steps = 0, activity = 0, gaps = 0;
    for (const WrittenGpu& gpu : written.gpus) {
        steps += gpu.steps.size();
        activity += gpu.activity.size();
        gaps += gpu.gaps.size();
    }
    const auto are = [&](const char* query, size_t rows) {
        Query count(run, file_of(run), query);
        return count.step() && static_cast<size_t>(count.number(0)) == rows;
    };
    return are("SELECT count(*) FROM rank", written.ranks.size()) &&
           are("SELECT count(*) FROM gpu_step", steps) && are("SELECT count(*) FROM activity", activity) &&
           are("SELECT coalesce(max(rowid), 0) FROM gap", gaps);
}

}  // namespace

CountedSteps::CountedSteps(sqlite3* run) {
    rows_ = rows_of_basis(BasisFacts(run), totals_);
    read(run);
    read_run(run);
}

CountedSteps::CountedSteps(sqlite3* run, WrittenRun written, const std::function<void()>& beside) {
    if (is_whole(run, written)) {
        const BasisFacts facts(run, written);
        in_parallel(2, 2, [&](size_t which) {
            if (which == 0) return beside();
            rows_ = rows_of_basis(facts, totals_);
            take(std::move(written));
        });
    } else {
        beside();
        rows_ = rows_of_basis(BasisFacts(run), totals_);
        read(run);
    }
    read_run(run);
}

CountedSteps::CountedSteps(sqlite3* run, StepNumbers only) {
    rows_ = rows_of_basis(BasisFacts(run), totals_);
    leave_only(only);
    read(run);
    read_run(run);
}

void CountedSteps::leave_only(StepNumbers only) {
    const auto is_left_out = [&](const GpuInStep& row) {
        const bool is_span = of_gpu(std::span(totals_), row.gpu_id)->basis == "spans";
        return is_span || row.number < only.first || row.number > only.last;
    };
    std::erase_if(rows_, is_left_out);
}

// What is not asked while other things are done beside.
void CountedSteps::read_run(sqlite3* run) {
    read_loads(run);
    Query all(run, file_of(run), "SELECT max(whole_steps), max(recorded_steps) FROM v_run_steps");
    if (!all.step()) return;
    whole_steps_ = all.maybe_real(0);
    recorded_steps_ = all.maybe(1);
}

void CountedSteps::read_loads(sqlite3* run) {
    RowFinder finder((Rows(rows_)));
    Query loads(
        run, file_of(run),
        "SELECT u.gpu_id, s.step FROM step s JOIN gpu u ON u.rank_id = s.rank_id WHERE s.has_load = 1");
    while (loads.step())
        if (GpuInStep* row = finder.find(loads.number(0), loads.number(1))) row->loads_code = true;
}

// Rows of `activity`, those of steps that are not there among them.
class CountedSteps::ActivitySums {
  public:
    explicit ActivitySums(CountedSteps& of) : of_(of), finder_(Rows(of.rows_)) {}

    void add(int64_t gpu_id, int64_t step, int64_t classes, int64_t ns) {
        GpuInStep* row = finder_.find(gpu_id, step);
        if (row == nullptr) return;
        if (total_ == nullptr || total_->gpu_id != gpu_id) total_ = of_gpu(std::span(of_.totals_), gpu_id);
        const auto ns_if = [&](WhatRan ran) { return is_of(ran, classes) ? ns : 0; };
        for (size_t i = 0; i < total_->ran_ns.size(); ++i)
            total_->ran_ns[i] += ns_if(static_cast<WhatRan>(i));
        row->window_ns += ns;
        row->busy_ns += ns_if(WhatRan::busy);
        row->waiting_ns += ns_if(WhatRan::waiting_for_peer);
        row->productive_ns += ns_if(WhatRan::productive);
        row->transfer_ns += ns_if(WhatRan::transfer);
        row->exposed_transfer_ns += ns_if(WhatRan::exposed_transfer);
        row->compute_beside_no_transfer_ns += ns_if(WhatRan::compute_beside_no);
    }

  private:
    CountedSteps& of_;
    RowFinder<GpuInStep> finder_;
    GpuTotal* total_ = nullptr;
};

// Rows without a window are of nothing; the sums of what is left.
void CountedSteps::sum_rows() {
    std::erase_if(rows_, [](const GpuInStep& none) { return none.window_ns == 0; });
    size_t at = 0;
    for (GpuTotal& total : totals_)
        for (; at < rows_.size() && rows_[at].gpu_id == total.gpu_id; ++at) {
            const GpuInStep& row = rows_[at];
            ++total.steps;
            total.busy_low_ns += std::min(row.busy_low_ns, row.busy_ns);
            total.busy_high_ns += std::max(row.busy_high_ns, row.busy_ns);
            total.busy_likely_low_ns += std::min(row.busy_likely_low_ns, row.busy_ns);
            total.busy_likely_high_ns += std::max(row.busy_likely_high_ns, row.busy_ns);
        }
    std::erase_if(totals_, [](const GpuTotal& none) { return none.steps == 0; });
}

// Rows of `gap` of steps that are there, in order of the step: those of a cause are one part of its step.
class CountedSteps::GapSums {
  public:
    GapSums(CountedSteps& of, size_t expected)
        : of_(of), finder_(Rows(of.rows_)), idle_(of.idle_.emplace_back()) {
        idle_.reserve(expected);
    }
    // false: it is not in order.
    bool add(int64_t gpu_id, int64_t step, const IdlePart& part, int64_t rowid) {
        const GpuInStep* row = finder_.find(gpu_id, step);
        if (row == nullptr) return true;
        const auto place = static_cast<size_t>(row - of_.rows_.data());
        if (!rows_.empty() && place < rows_.back().place) return false;
        add_to_row(place, part);
        if (total_ == nullptr || total_->gpu_id != gpu_id) total_ = of_gpu(std::span(of_.totals_), gpu_id);
        GpuTotal::Idle& sum = total_->idle[static_cast<size_t>(part.cause)];
        ++sum.rows;
        sum.ns += part.ns;
        sum.drained_ns += part.drained_ns;
        of_.note(part.cause, {part.ns, rowid});
        return true;
    }
    void end() {
        size_t end = idle_.size();
        for (auto row = rows_.rbegin(); row != rows_.rend(); end = row++->begin) {
            const std::span<IdlePart> parts(idle_.data() + row->begin, end - row->begin);
            std::sort(parts.begin(), parts.end(), [](const IdlePart& a, const IdlePart& b) {
                return place_by_name(a.cause) < place_by_name(b.cause);
            });
            of_.rows_[row->place].idle = parts;
        }
    }

  private:
    void add_to_row(size_t place, const IdlePart& part) {
        if (rows_.empty() || rows_.back().place != place) rows_.push_back({place, idle_.size()});
        const auto same =
            std::find_if(idle_.begin() + static_cast<std::ptrdiff_t>(rows_.back().begin), idle_.end(),
                         [&](const IdlePart& one) { return one.cause == part.cause; });
        if (same == idle_.end()) return idle_.push_back(part);
        same->ns += part.ns;
        same->drained_ns += part.drained_ns;
        same->pieces += part.pieces;
        same->longest_ns = std::max(same->longest_ns, part.longest_ns);
    }

    struct Row {
        size_t place, begin;  // in the rows; in idle_
    };
    CountedSteps& of_;
    RowFinder<GpuInStep> finder_;
    std::vector<IdlePart>& idle_;
    std::vector<Row> rows_;  // that have some
    GpuTotal* total_ = nullptr;
};

// A GPU's rows go as soon as they are summed up: all of them twice would be a fifth of what is in memory.
void CountedSteps::take(WrittenRun written) {
    ActivitySums sums(*this);
    for (WrittenGpu& gpu : written.gpus) {
        for (const WrittenGpu::Activity& row : gpu.activity)
            sums.add(gpu.gpu_id, row.step, row.classes, row.ns);
        gpu.activity = {};
    }
    sum_rows();
    for (WrittenGpu& of_gpu : written.gpus) {
        const WrittenGpu gpu = std::move(of_gpu);
        take_gaps(gpu);
    }
}

void CountedSteps::take_gaps(const WrittenGpu& gpu) {
    GapSums sums(*this, gpu.gaps.size());
    for (size_t i = 0; i < gpu.gaps.size(); ++i)
        if (!sums.add(gpu.gpu_id, gpu.gap_steps[i], gpu.gaps[i], gpu.first_gap + static_cast<int64_t>(i)))
            throw std::logic_error("rows of idle time were not written in order");
    sums.end();
}

void CountedSteps::read(sqlite3* run) {
    ActivitySums sums(*this);
    Query activity(run, file_of(run), "SELECT gpu_id, step, classes, ns FROM activity");
    while (activity.step())
        sums.add(activity.number(0), activity.number(1), activity.number(2), activity.number(3));
    sum_rows();
    // As they were written they are in order of their rows; if others wrote them they are sorted, which takes
    // longer.
    if (!read_gaps(run, false)) read_gaps(run, true);
}

// false: they are not in order of their rows.
bool CountedSteps::read_gaps(sqlite3* run, bool in_order) {
    for (GpuTotal& total : totals_) total.idle = {};
    for (auto& gaps : largest_) gaps.clear();
    idle_.clear();
    GapSums sums(*this, 0);
    Query gaps(run, file_of(run),
               std::string("SELECT gpu_id, step, cause, ns, pieces, drained_by_sync_ns, rowid, longest_ns"
                           " FROM gap") +
                   (in_order ? " ORDER BY gpu_id, step, cause" : ""));
    while (gaps.step()) {
        const IdlePart part = {gaps.number(3), gaps.number(5), gaps.number(7),
                               static_cast<int32_t>(gaps.number(4)), cause_named(gaps.text(2))};
        if (!sums.add(gaps.number(0), gaps.number(1), part, gaps.number(6))) return false;
    }
    sums.end();
    return true;
}

void CountedSteps::note(Cause cause, Gap gap) {
    std::vector<Gap>& gaps = largest_[static_cast<size_t>(cause)];
    const auto is_before = [](const Gap& a, const Gap& b) {
        return std::tuple(-a.ns, a.rowid) < std::tuple(-b.ns, b.rowid);
    };
    if (gaps.size() == kLargest && !is_before(gap, gaps.back())) return;
    gaps.insert(std::upper_bound(gaps.begin(), gaps.end(), gap, is_before), gap);
    if (gaps.size() > kLargest) gaps.pop_back();
}

std::vector<int64_t> CountedSteps::largest_gaps(Causes causes) const {
    std::vector<std::pair<int64_t, int64_t>> all;
    for (const CauseRow& row : kCauses)
        if (causes.has(row.cause))
            for (const Gap& gap : largest_[static_cast<size_t>(row.cause)])
                all.emplace_back(-gap.ns, gap.rowid);
    std::sort(all.begin(), all.end());
    std::vector<int64_t> rowids;
    for (size_t i = 0; i < std::min(all.size(), kLargest); ++i) rowids.push_back(all[i].second);
    return rowids;
}

const GpuInStep* CountedSteps::find(int64_t gpu_id, int64_t step) const {
    return RowFinder(std::span(rows_)).find(gpu_id, step);
}

const GpuTotal* CountedSteps::total_of(int64_t gpu_id) const { return of_gpu(std::span(totals_), gpu_id); }

void CountedSteps::stand_before_views(sqlite3* run) const {
    do_in(run, "CREATE TEMP TABLE v_gpu_total AS SELECT * FROM main.v_gpu_total WHERE 0");
    do_in(run, "CREATE TEMP TABLE v_gpu_idle AS SELECT * FROM main.v_gpu_idle WHERE 0");
    std::set<int64_t> unknown_waits;
    Query unknown(run, file_of(run), "SELECT gpu_id FROM v_unknown_wait");
    while (unknown.step()) unknown_waits.insert(unknown.number(0));
    for (const GpuTotal& total : totals_) {
        std::string sums;
        for (size_t i = 0; i <= static_cast<size_t>(WhatRan::exposed_comm); ++i) {
            const auto what = static_cast<WhatRan>(i);
            const bool hangs_on_waits =
                what == WhatRan::waiting_for_peer || what == WhatRan::unhidden_transfer;
            sums += hangs_on_waits && unknown_waits.contains(total.gpu_id)
                        ? ", NULL"
                        : ", " + std::to_string(total.ran_ns[i]);
        }
        const std::string gpu = std::to_string(total.gpu_id);
        do_in(run, "INSERT INTO temp.v_gpu_total VALUES (" + gpu + ", '" + total.basis + "', " +
                       std::to_string(total.steps) + sums + ", " + std::to_string(total.busy_low_ns) + ", " +
                       std::to_string(total.busy_high_ns) + ", " + std::to_string(total.busy_likely_low_ns) +
                       ", " + std::to_string(total.busy_likely_high_ns) + ")");
        for (const CauseRow& row : kCauses) {
            const GpuTotal::Idle& idle = total.idle[static_cast<size_t>(row.cause)];
            if (idle.rows == 0) continue;
            do_in(run, "INSERT INTO temp.v_gpu_idle VALUES (" + gpu + ", '" + row.name + "', '" +
                           name_of(row.group) + "', " + std::to_string(idle.ns) + ", " +
                           std::to_string(idle.drained_ns) + ")");
        }
    }
}

void CountedSteps::leave_to_views(sqlite3* run) {
    do_in(run, "DROP TABLE temp.v_gpu_total");
    do_in(run, "DROP TABLE temp.v_gpu_idle");
}

}  // namespace gpushim::analysis
