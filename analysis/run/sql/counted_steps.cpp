#include "counted_steps.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "../../sqlite/new_database.h"
#include "../../trace/work_bound.h"

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

template <class Of>
double sum_of(std::span<const IdlePart> idle, Causes causes, Of of) {
    int64_t sum_ns = 0;
    for (const IdlePart& part : idle)
        if (causes.has(part.cause)) sum_ns += of(part);
    return static_cast<double>(sum_ns);
}

}  // namespace

double GpuInStep::idle_ns(Causes causes) const {
    return sum_of(idle, causes, [](const IdlePart& part) { return part.ns; });
}

double GpuInStep::drained_ns(Causes causes) const {
    return sum_of(idle, causes, [](const IdlePart& part) { return part.drained_ns; });
}

double GpuInStep::longest_ns(Causes causes) const {
    int64_t longest_ns = 0;
    for (const IdlePart& part : idle)
        if (causes.has(part.cause)) longest_ns = std::max(longest_ns, part.longest_ns);
    return static_cast<double>(longest_ns);
}

double GpuInStep::pause_ns() const {
    const double ns = longest_ns(kBetweenLaunches);
    return 2 * ns > idle_ns(kBetweenLaunches) ? ns : 0;
}

double GpuInStep::sure_share() const {
    const auto idle_ns = static_cast<double>(window_ns - busy_ns);
    const auto sure_ns = static_cast<double>(window_ns - busy_high_ns);
    return idle_ns > 0 ? std::clamp(sure_ns / idle_ns, 0.0, 1.0) : 1;
}

int64_t GpuTotal::idle_ns(CauseGroup group) const {
    int64_t sum_ns = 0;
    for (const CauseRow& row : kCauses)
        if (row.group == group) sum_ns += idle[static_cast<size_t>(row.cause)].ns;
    return sum_ns;
}

CountedSteps::CountedSteps(sqlite3* run) {
    read_rows(run);
    read_bounds(run);
    read_loads(run);
    read_activity(run);
    sum_rows();
    // As they were written they are in order of their rows; whoever wrote others pays for having them sorted.
    if (!read_gaps(run, false)) read_gaps(run, true);
}

void CountedSteps::read_rows(sqlite3* run) {
    struct OfGpu {
        int64_t rank_id, latency_ns, kernel_gap_ns;
    };
    std::unordered_map<int64_t, OfGpu> gpus;
    Query known(run, file_of(run),
                "SELECT gpu_id, rank_id, coalesce(latency_ns, 0), coalesce(kernel_gap_ns, 0) FROM gpu");
    while (known.step()) gpus[known.number(0)] = {known.number(1), known.number(2), known.number(3)};
    Query basis(run, file_of(run), "SELECT gpu_id, step, coalesce(number, step), basis FROM v_gpu_basis");
    while (basis.step()) {
        const int64_t gpu_id = basis.number(0);
        if (totals_.empty() || totals_.back().gpu_id != gpu_id) totals_.push_back({gpu_id, basis.text(3)});
        const OfGpu& gpu = gpus[gpu_id];
        GpuInStep& row = rows_.emplace_back();
        row.gpu_id = gpu_id;
        row.rank_id = gpu.rank_id;
        row.number = basis.number(2);
        row.step = basis.number(1);
        row.latency_ns = gpu.latency_ns;
        row.kernel_gap_ns = gpu.kernel_gap_ns;
    }
    const auto by_key = [](const GpuInStep& a, const GpuInStep& b) {
        return std::pair(a.gpu_id, a.step) < std::pair(b.gpu_id, b.step);
    };
    if (!std::is_sorted(rows_.begin(), rows_.end(), by_key)) std::sort(rows_.begin(), rows_.end(), by_key);
    std::sort(totals_.begin(), totals_.end(),
              [](const GpuTotal& a, const GpuTotal& b) { return a.gpu_id < b.gpu_id; });
    const auto same = [](const GpuTotal& a, const GpuTotal& b) { return a.gpu_id == b.gpu_id; };
    totals_.erase(std::unique(totals_.begin(), totals_.end(), same), totals_.end());
}

void CountedSteps::read_bounds(sqlite3* run) {
    RowFinder finder((Rows(rows_)));
    Query bounds(run, file_of(run),
                 "SELECT gpu_id, step, busy_low_ns, busy_high_ns, busy_likely_low_ns, busy_likely_high_ns"
                 " FROM gpu_step");
    while (bounds.step())
        if (GpuInStep* row = finder.find(bounds.number(0), bounds.number(1))) {
            row->busy_low_ns = bounds.number(2);
            row->busy_high_ns = bounds.number(3);
            row->busy_likely_low_ns = bounds.number(4);
            row->busy_likely_high_ns = bounds.number(5);
        }
}

void CountedSteps::read_loads(sqlite3* run) {
    RowFinder finder((Rows(rows_)));
    Query loads(
        run, file_of(run),
        "SELECT u.gpu_id, s.step FROM step s JOIN gpu u ON u.rank_id = s.rank_id WHERE s.has_load = 1");
    while (loads.step())
        if (GpuInStep* row = finder.find(loads.number(0), loads.number(1))) row->loads_code = true;
}

void CountedSteps::read_activity(sqlite3* run) {
    RowFinder finder((Rows(rows_)));
    GpuTotal* total = nullptr;
    Query activity(run, file_of(run), "SELECT gpu_id, step, classes, ns FROM activity");
    while (activity.step()) {
        GpuInStep* row = finder.find(activity.number(0), activity.number(1));
        if (row == nullptr) continue;
        if (total == nullptr || total->gpu_id != row->gpu_id) total = of_gpu(std::span(totals_), row->gpu_id);
        const int64_t classes = activity.number(2), ns = activity.number(3);
        const auto ns_if = [&](WhatRan ran) { return is_of(ran, classes) ? ns : 0; };
        for (size_t i = 0; i < total->ran_ns.size(); ++i) total->ran_ns[i] += ns_if(static_cast<WhatRan>(i));
        row->window_ns += ns;
        row->busy_ns += ns_if(WhatRan::busy);
        row->waiting_ns += ns_if(WhatRan::waiting_for_peer);
        row->transfer_ns += ns_if(WhatRan::transfer);
        row->exposed_transfer_ns += ns_if(WhatRan::exposed_transfer);
        row->compute_beside_no_transfer_ns += ns_if(WhatRan::compute_beside_no);
    }
    std::erase_if(rows_, [](const GpuInStep& none) { return none.window_ns == 0; });
}

void CountedSteps::sum_rows() {
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

// false: they are not in order of their rows.
bool CountedSteps::read_gaps(sqlite3* run, bool in_order) {
    for (GpuTotal& total : totals_) total.idle = {};
    for (auto& gaps : largest_) gaps.clear();
    idle_.clear();
    std::vector<size_t> begins(rows_.size() + 1, SIZE_MAX);
    RowFinder finder((Rows(rows_)));
    GpuTotal* total = nullptr;
    size_t last = 0;
    Query gaps(run, file_of(run),
               std::string("SELECT gpu_id, step, cause, ns, pieces, drained_by_sync_ns, rowid, longest_ns"
                           " FROM gap") +
                   (in_order ? " ORDER BY gpu_id, step, cause" : ""));
    while (gaps.step()) {
        const GpuInStep* row = finder.find(gaps.number(0), gaps.number(1));
        if (row == nullptr) continue;
        const auto place = static_cast<size_t>(row - rows_.data());
        if (place < last) return false;
        last = place;
        const IdlePart part = {gaps.number(3), gaps.number(5), gaps.number(7),
                               static_cast<int32_t>(gaps.number(4)), cause_named(gaps.text(2))};
        if (begins[place] == SIZE_MAX) begins[place] = idle_.size();
        const auto same =
            std::find_if(idle_.begin() + static_cast<std::ptrdiff_t>(begins[place]), idle_.end(),
                         [&](const IdlePart& one) { return one.cause == part.cause; });
        if (same == idle_.end()) {
            idle_.push_back(part);
        } else {
            same->ns += part.ns;
            same->drained_ns += part.drained_ns;
            same->pieces += part.pieces;
            same->longest_ns = std::max(same->longest_ns, part.longest_ns);
        }
        if (total == nullptr || total->gpu_id != row->gpu_id) total = of_gpu(std::span(totals_), row->gpu_id);
        GpuTotal::Idle& sum = total->idle[static_cast<size_t>(part.cause)];
        ++sum.rows;
        sum.ns += part.ns;
        sum.drained_ns += part.drained_ns;
        note(part.cause, {part.ns, gaps.number(6)});
    }
    size_t end = idle_.size();
    for (size_t i = rows_.size(); i-- > 0;) {
        const size_t begin = std::min(begins[i], end);
        const std::span<IdlePart> parts(idle_.data() + begin, end - begin);
        std::sort(parts.begin(), parts.end(), [](const IdlePart& a, const IdlePart& b) {
            return place_by_name(a.cause) < place_by_name(b.cause);
        });
        rows_[i].idle = parts;
        end = begin;
    }
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

void CountedSteps::stand_before_views(const NewDatabase& run) const {
    run.run(
        "CREATE TEMP TABLE v_gpu_total AS SELECT * FROM main.v_gpu_total WHERE 0;"
        "CREATE TEMP TABLE v_gpu_idle AS SELECT * FROM main.v_gpu_idle WHERE 0");
    std::set<int64_t> unknown_waits;
    Query unknown(run.raw(), "run", "SELECT gpu_id FROM v_unknown_wait");
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
        run.run("INSERT INTO temp.v_gpu_total VALUES (" + gpu + ", '" + total.basis + "', " +
                std::to_string(total.steps) + sums + ", " + std::to_string(total.busy_low_ns) + ", " +
                std::to_string(total.busy_high_ns) + ", " + std::to_string(total.busy_likely_low_ns) + ", " +
                std::to_string(total.busy_likely_high_ns) + ")");
        for (const CauseRow& row : kCauses) {
            const GpuTotal::Idle& idle = total.idle[static_cast<size_t>(row.cause)];
            if (idle.rows == 0) continue;
            run.run("INSERT INTO temp.v_gpu_idle VALUES (" + gpu + ", '" + row.name + "', '" +
                    name_of(row.group) + "', " + std::to_string(idle.ns) + ", " +
                    std::to_string(idle.drained_ns) + ")");
        }
    }
}

void CountedSteps::leave_to_views(const NewDatabase& run) {
    run.run("DROP TABLE temp.v_gpu_total; DROP TABLE temp.v_gpu_idle");
}

}  // namespace gpushim::analysis
