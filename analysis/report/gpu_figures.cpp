#include "gpu_figures.h"

#include <algorithm>
#include <numeric>

#include "counted.h"

namespace gpushim::analysis {

namespace {

constexpr double kFullyTimed = 0.98;  // from here on a run is not called sampled
constexpr double kNearlyAll = 0.9;    // from here on how busy steps were follows from how busy the run was

using OfGpus = std::map<int64_t, GpuFigures>;

void read_totals(const CountedSteps& counted, OfGpus& gpus) {
    for (const GpuTotal& total : counted.totals()) {
        GpuFigures& gpu = gpus[total.gpu_id];
        gpu.basis = total.basis;
        gpu.steps = total.steps;
        gpu.window_ns = total.ns(WhatRan::window);
        gpu.busy_ns = total.ns(WhatRan::busy);
        gpu.idle_ns = total.ns(WhatRan::idle);
        gpu.waiting_ns = total.ns(WhatRan::waiting_for_peer);
        gpu.productive_ns = total.ns(WhatRan::productive);
        gpu.compute_ns = total.ns(WhatRan::compute);
        gpu.copy_ns = total.ns(WhatRan::copy);
        gpu.comm_ns = total.ns(WhatRan::comm);
        gpu.exposed_ns = total.ns(WhatRan::exposed_comm);
        gpu.exposed_transfer_ns = total.ns(WhatRan::unhidden_transfer);
        gpu.memory_ns = total.ns(WhatRan::memory);
        gpu.busy_low_ns = total.busy_low_ns;
        gpu.busy_high_ns = total.busy_high_ns;
        gpu.busy_likely_low_ns = total.busy_likely_low_ns;
        gpu.busy_likely_high_ns = total.busy_likely_high_ns;
        for (const CauseRow& row : kCauses) {
            const GpuTotal::Idle& idle = total.idle[static_cast<size_t>(row.cause)];
            if (idle.rows == 0) continue;
            gpu.idle_by_cause[row.name] += idle.ns;
            gpu.idle_by_group[name_of(row.group)] += idle.ns;
            gpu.drained_ns += idle.drained_ns;
        }
    }
}

void read_rows(const CountedSteps& counted, OfGpus& gpus) {
    for (const GpuInStep& row : counted.rows()) {
        GpuFigures& gpu = gpus[row.gpu_id];
        gpu.parts_busy.push_back({row.busy_ns, row.window_ns});
        gpu.parts_waiting.push_back({row.waiting_ns, row.window_ns});
        gpu.parts_productive.push_back({row.productive_ns, row.window_ns});
    }
}

// What the figures of a step are of: so many of those that count, and that part of the run.
void read_steps(const ReportSource& source, OfGpus& gpus) {
    const CountedLengths& lengths = counted_lengths(source);
    std::map<int64_t, std::pair<int64_t, int64_t>> of_rank;  // how many, and how long together
    for (const CountedLengths::Length& one : lengths.all) {
        auto& [count, sum_ns] = of_rank[one.rank_id];
        ++count;
        sum_ns += one.dur_ns;
    }
    Query row = source.run.prepare("SELECT gpu_id, rank_id, run_ns FROM gpu");
    while (row.step()) {
        GpuFigures& gpu = gpus[row.number(0)];
        const auto found = of_rank.find(row.number(1));
        if (gpu.basis != "steps" || found == of_rank.end()) continue;
        const auto& [count, sum_ns] = found->second;
        gpu.timed_steps_share = static_cast<double>(gpu.steps) / static_cast<double>(count);
        gpu.sampled = gpu.timed_steps_share < kFullyTimed;
        if (!source.is_part_of_run() && row.real(2) > 0)
            gpu.steps_of_run = std::min(1.0, static_cast<double>(sum_ns) / row.real(2));
    }
}

void read_lengths(const ReportSource& source, const CountedSteps& counted, OfGpus& gpus) {
    const CountedLengths& lengths = counted_lengths(source);
    for (const GpuInStep& row : counted.rows()) {
        GpuFigures& gpu = gpus[row.gpu_id];
        if (gpu.basis != "steps") continue;
        if (const auto* length = lengths.find(row.rank_id, row.step)) gpu.as_it_ran_ns += length->dur_ns;
    }
}

// Steps of one window are like each other, so windows are drawn: as many blocks of steps that follow each
// other as there were windows. No more than is needed to know how they differ.
std::vector<PartOf> blocks_of(const std::vector<PartOf>& parts, int64_t windows) {
    const auto most = static_cast<size_t>(std::clamp(windows, int64_t{2}, int64_t{64}));
    const size_t length = (parts.size() + most - 1) / most;
    std::vector<PartOf> blocks;
    for (size_t i = 0; i < parts.size(); ++i) {
        if (i % length == 0) blocks.push_back({0, 0});
        blocks.back().part_ns += parts[i].part_ns;
        blocks.back().whole_ns += parts[i].whole_ns;
    }
    return blocks;
}

}  // namespace

bool GpuFigures::causes_sum() const {
    return idle_ns == std::accumulate(idle_by_cause.begin(), idle_by_cause.end(), int64_t{0},
                                      [](int64_t sum, const auto& cause) { return sum + cause.second; });
}

ShareRange GpuFigures::range(int64_t ns, const std::vector<PartOf>& parts, bool has_bounds) const {
    ShareRange range = {of_window(ns), of_window(ns), of_window(ns)};
    if (has_bounds) {
        range.low -= of_window(busy_ns - busy_likely_low_ns);
        range.high += of_window(busy_likely_high_ns - busy_ns);
    }
    if (const auto drawn = sampled ? sampling_range(blocks_of(parts, windows)) : std::nullopt) {
        range.low = std::min(range.low, drawn->low);
        range.high = std::max(range.high, drawn->high);
    }
    return {range.share, std::clamp(range.low, 0.0, range.share), std::clamp(range.high, range.share, 1.0)};
}

// Of one window, or of one step, there is no drawing others: the rest is anything.
ShareRange GpuFigures::with_rest(ShareRange range) const {
    if (!sampled || (windows > 1 && parts_busy.size() > 1)) return range;
    const double known = speaks_for_the_run() ? timed_share : timed_steps_share;
    return {range.share, known * range.low, known * range.high + 1 - known};
}

// What the run did beside its steps was at least nothing and at most all of that time.
ShareRange GpuFigures::as_the_run_tells(ShareRange range) const {
    if (!sampled || !run_low || !run_high || steps_of_run < kNearlyAll) return range;
    const double low = std::max(0.0, (*run_low - (1 - steps_of_run)) / steps_of_run);
    const double high = std::min(1.0, *run_high / steps_of_run);
    if (high - low >= range.high - range.low) return range;
    return {range.share, std::min(range.share, low), std::max(range.share, high)};
}

ShareRange GpuFigures::busy() const {
    const ShareRange timed = range(busy_ns, parts_busy, true);
    if (basis == "steps") return as_the_run_tells(with_rest(timed));
    if (!speaks_for_the_run() || !run_low || !run_high) return with_rest(timed);
    return {timed.share, std::min(timed.low, *run_low), std::max(timed.high, *run_high)};
}

ShareRange GpuFigures::productive() const {
    const ShareRange timed = with_rest(range(productive_ns, parts_productive, true));
    const int64_t of_peers_ns =
        knows_waits() ? 0 : std::clamp<int64_t>(as_it_ran_ns - window_ns, 0, exposed_ns);
    const int64_t least_ns = window_ns - of_peers_ns;
    const double high = least_ns > 0 ? timed.high * of_window(window_ns) / of_window(least_ns) : 1;
    return {timed.share, timed.low, std::max(timed.share, std::min(high, busy().high))};
}

// Holds what is likely: that is drawn from steps, which knows no bounds.
ShareRange GpuFigures::certainly(int64_t ns, ShareRange likely, double whole_run_low) const {
    ShareRange certain = with_rest(
        {likely.share, of_window(ns - (busy_ns - busy_low_ns)), of_window(ns + (busy_high_ns - busy_ns))});
    if (speaks_for_the_run()) {
        certain.low = std::min(certain.low, whole_run_low);
        certain.high = std::max(certain.high, run_highest.value_or(1));
    }
    return {likely.share, std::clamp(certain.low, 0.0, likely.low),
            std::clamp(certain.high, likely.high, 1.0)};
}

ShareRange GpuFigures::idle() const {
    const ShareRange busy_range = busy();
    return {of_window(idle_ns), 1 - busy_range.high, 1 - busy_range.low};
}

namespace {

// Runs that an older gpushim analysed do not say.
void read_whether_bounds_hold(const ReportSource& source, std::map<int64_t, GpuFigures>& by_id) {
    if (!source.run.has("v_gpu_bounds")) return;
    Query row = source.run.prepare("SELECT gpu_id, hold FROM v_gpu_bounds WHERE hold IS NOT NULL");
    while (row.step()) by_id[row.number(0)].bounds_hold = row.number(1) != 0;
}

}  // namespace

namespace {

std::vector<GpuFigures> read_gpu_figures(const ReportSource& source) {
    std::map<int64_t, GpuFigures> by_id;
    for (const auto& [id, label] : gpu_labels(source.run)) {
        by_id[id].gpu_id = id;
        by_id[id].label = label;
    }
    Query timed = source.run.prepare(
        "SELECT gpu_id, timed_share, windows, busy_share_likely_low, busy_share_likely_high,"
        " busy_share_low, busy_share_high FROM gpu");
    while (timed.step()) {
        GpuFigures& gpu = by_id[timed.number(0)];
        gpu.timed_share = timed.real(1);
        gpu.sampled = gpu.timed_share < kFullyTimed;
        gpu.windows = timed.number(2);
        gpu.run_low = maybe_real(timed, 3);
        gpu.run_high = maybe_real(timed, 4);
        gpu.run_lowest = maybe_real(timed, 5);
        gpu.run_highest = maybe_real(timed, 6);
    }
    read_whether_bounds_hold(source, by_id);
    Query beside = source.run.prepare("SELECT gpu_id FROM v_gpu_beside_steps");
    while (beside.step()) by_id[beside.number(0)].is_beside_steps = true;
    Query unknown = source.run.prepare("SELECT gpu_id, why FROM v_unknown_wait");
    while (unknown.step()) by_id[unknown.number(0)].wait_why = unknown.text(1);
    const auto counted = counted_steps_asked_for(source);
    read_totals(*counted, by_id);
    read_rows(*counted, by_id);
    read_steps(source, by_id);
    read_lengths(source, *counted, by_id);
    std::vector<GpuFigures> all;
    for (auto& [id, gpu] : by_id) all.push_back(std::move(gpu));
    const auto lost = [](const GpuFigures& gpu) {
        return gpu.is_known() ? 1 - gpu.of_window(gpu.productive_ns) : 0.0;
    };
    std::stable_sort(all.begin(), all.end(), [&](auto& a, auto& b) { return lost(a) > lost(b); });
    return all;
}

}  // namespace

const std::vector<GpuFigures>& gpu_figures(const ReportSource& source) {
    if (!source.asked_gpus)
        source.asked_gpus = std::make_shared<const std::vector<GpuFigures>>(read_gpu_figures(source));
    return *source.asked_gpus;
}

std::vector<const GpuFigures*> in_means(const std::vector<GpuFigures>& all) {
    std::vector<const GpuFigures*> known;
    for (const GpuFigures& one : all)
        if (one.is_known()) known.push_back(&one);
    const auto is_beside = [](const GpuFigures* one) { return one->is_beside_steps; };
    if (!std::all_of(known.begin(), known.end(), is_beside)) std::erase_if(known, is_beside);
    return known;
}

double unexplained_share(const std::vector<GpuFigures>& all) {
    double window = 0, unexplained = 0;
    for (const GpuFigures* const one : in_means(all)) {
        window += static_cast<double>(one->window_ns);
        const auto found = one->idle_by_cause.find("device_other");
        if (found != one->idle_by_cause.end()) unexplained += static_cast<double>(found->second);
    }
    return window > 0 ? unexplained / window : 0;
}

std::optional<MeanShares> mean_shares(const std::vector<GpuFigures>& all) {
    double window = 0;
    MeanShares sum;
    for (const GpuFigures* const one : in_means(all)) {
        ++sum.gpus;
        if (sum.knows_waits()) sum.wait_why = one->wait_why;
        window += static_cast<double>(one->window_ns);
        sum.productive += static_cast<double>(one->productive_ns);
        sum.waiting += static_cast<double>(one->waiting_ns);
        sum.exposed += static_cast<double>(one->exposed_transfer_ns);
        sum.memory += static_cast<double>(one->memory_ns);
        sum.idle += static_cast<double>(one->idle_ns);
    }
    if (window <= 0) return {};
    for (double* part : {&sum.productive, &sum.waiting, &sum.exposed, &sum.memory, &sum.idle})
        *part /= window;
    return sum;
}

}  // namespace gpushim::analysis
