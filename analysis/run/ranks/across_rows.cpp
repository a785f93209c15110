// GPUs of all ranks beside each other, step by step: whether they start together, run together, and carry the
// same load. Each GPU's rows are read side by side, in order of the step. Slices of a run without steps begin
// with the process, not with its work: nobody starts late in one, and those of several processes are other
// times.
#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "../../skew/stagger.h"
#include "../../to_int64.h"
#include "../busy/activity_sweep.h"
#include "../collectives/collective_run.h"
#include "../sql/run_db.h"
#include "busy_union.h"
#include "rank_rows.h"

namespace gpushim::analysis {

namespace {

// Steps of which the traces are read again: so many, of very many processes fewer, for each has to be opened.
constexpr int64_t kMostUnions = 16, kFewestUnions = 4, kMostReads = 1024;

int64_t most_unions(const CollectiveRun& all) {
    const auto traces = static_cast<int64_t>(all.traces.size());
    return std::clamp(kMostReads / std::max<int64_t>(1, traces), kFewestUnions, kMostUnions);
}

// A GPU's steps, one after the other.
class GpuSteps {
  public:
    GpuSteps(const WrittenGpu& written, const TraceFacts& facts, int32_t shift)
        : facts_(facts), written_(written), shift_(shift) {
        while (has_row() && own_step() < 0) ++row_;
        add_activity();
    }
    void next() {
        ++row_;
        add_activity();
    }
    bool has_row() const { return row_ < written_.steps.size(); }
    int64_t step() const { return own_step() + shift_; }  // by the first trace's numbers

    const TraceFacts& facts() const { return facts_; }
    int64_t gpu_id() const { return written_.gpu_id; }
    const Step& span() const { return facts_.steps[static_cast<size_t>(own_step())]; }
    bool is_there() const { return own_step() < static_cast<int64_t>(facts_.steps.size()); }
    std::optional<int64_t> first_launch_ns() const {
        const int64_t ns = row().first_launch_ns;
        return ns == kNotRecorded ? std::nullopt : std::optional(span().begin_ns + ns);
    }
    int64_t own_work_ns() const { return row().own_work_ns; }
    int64_t compute_ns() const { return compute_ns_; }
    int64_t idle_ns() const { return idle_ns_; }
    int64_t own_step() const { return row().step; }
    int64_t window_ns() const { return row().window_ns; }

  private:
    const WrittenGpu::InStep& row() const { return written_.steps[row_]; }

    // Both are in order of the step: they are gone through side by side.
    void add_activity() {
        compute_ns_ = idle_ns_ = 0;
        const auto& all = written_.activity;
        for (; has_row() && activity_ < all.size() && all[activity_].step <= own_step(); ++activity_) {
            const auto& [step, classes, ns] = all[activity_];
            if (step < own_step()) continue;
            if ((classes & kComputeBits) != 0) compute_ns_ += ns;
            if (classes == 0) idle_ns_ += ns;
        }
    }

    const TraceFacts& facts_;
    const WrittenGpu& written_;
    int32_t shift_;
    size_t row_ = 0, activity_ = 0;
    int64_t compute_ns_ = 0, idle_ns_ = 0;  // of the row's step
};

using Gpus = std::vector<std::unique_ptr<GpuSteps>>;

// Those that ran something in a step that is known as a whole; beside steps no slices. What one of several
// processes did on a GPU is not what the GPU did.
Gpus gpus_of(const CollectiveRun& all, const RunDb& run) {
    const std::set<int64_t> shared = run.numbers("SELECT gpu_id FROM shared_gpu");
    std::map<int64_t, const WrittenGpu*> active;
    for (const WrittenGpu& gpu : run.written().gpus)
        if (gpu.launches_in_steps && !shared.contains(gpu.gpu_id)) active[gpu.gpu_id] = &gpu;
    Gpus gpus;
    for (size_t i = 0; i < all.traces.size(); ++i)
        for (const Gpu& gpu : all.traces[i]->gpus)
            if (const auto found = active.find(gpu.gpu_id); found != active.end())
                gpus.push_back(
                    std::make_unique<GpuSteps>(*found->second, *all.traces[i], all.step_shifts[i].steps));
    const auto is_sliced = [](const auto& gpu) { return gpu->facts().are_slices; };
    if (!std::all_of(gpus.begin(), gpus.end(), is_sliced)) std::erase_if(gpus, is_sliced);
    return gpus;
}

// False: one of them has no more.
bool go_to_common_step(const Gpus& gpus) {
    int64_t step = INT64_MIN;
    for (bool moved = true; moved;) {
        moved = false;
        for (const auto& gpu : gpus) {
            while (gpu->has_row() && gpu->step() < step) {
                gpu->next();
                moved = true;
            }
            if (!gpu->has_row() || !gpu->is_there()) return false;
            moved |= gpu->step() > step;
            step = std::max(step, gpu->step());
        }
    }
    return true;
}

double period_ns(const TraceFacts& facts) {
    const auto steps = static_cast<double>(facts.steps.size());
    return facts.steps.empty()
               ? 0
               : static_cast<double>(facts.steps.back().end_ns - facts.steps.front().begin_ns) / steps;
}

// Processes that go on together take as long for a step. Where they do not (one fills a model's cache,
// another one decodes), steps of one number are other times and other work.
bool keep_step(const Gpus& gpus) {
    constexpr double kApart = 1.5;
    double shortest_ns = period_ns(gpus.front()->facts()), longest_ns = shortest_ns;
    for (const auto& gpu : gpus) {
        shortest_ns = std::min(shortest_ns, period_ns(gpu->facts()));
        longest_ns = std::max(longest_ns, period_ns(gpu->facts()));
    }
    return longest_ns < kApart * shortest_ns;
}

struct Starts {
    Stagger stagger;
    int64_t idle_ns;
    std::string order;
};

// Idle before its first launch is at most that from the first launch of all to its own, and at most all of
// it.
std::optional<Starts> starts_of(const Gpus& gpus, const RunClocks& clocks) {
    std::vector<GpuStart> starts;
    int64_t error_ns = 0, first_ns = INT64_MAX;
    for (const auto& gpu : gpus) {
        const auto launch_ns = gpu->first_launch_ns();
        if (!launch_ns) return {};
        const auto offset = clocks.offset(clocks.clock_of(gpu->facts().rank_id), *launch_ns);
        if (!offset) return {};
        starts.push_back({*launch_ns + offset->point_ns, {}});
        first_ns = std::min(first_ns, starts.back().first_launch_ns);
        error_ns = std::max(error_ns, 2 * offset->clock_error_ns());
    }
    const auto stagger = stagger_of(starts, gpus.front()->span().length_ns(), error_ns);
    if (!stagger) return {};
    Starts result = {*stagger, 0, ""};
    for (size_t i = 0; i < gpus.size(); ++i)
        result.idle_ns += std::min(starts[i].first_launch_ns - first_ns, gpus[i]->idle_ns());
    for (const int gpu : stagger->order)
        result.order +=
            (result.order.empty() ? "" : ",") + std::to_string(gpus[static_cast<size_t>(gpu)]->gpu_id());
    return result;
}

bool is_one_process(const Gpus& gpus) {
    return std::all_of(gpus.begin(), gpus.end(),
                       [&](const auto& gpu) { return &gpu->facts() == &gpus.front()->facts(); });
}

std::optional<double> index_in_process(const Gpus& gpus, const RunDb& run) {
    Query query(run.raw(), "run",
                "SELECT gpus, union_ns, sum_ns, longest_ns FROM together WHERE rank_id = ?1 AND step = ?2");
    query.bind(1, gpus.front()->facts().rank_id);
    query.bind(2, gpus.front()->own_step());
    if (!query.step() || query.number(0) < 2 || query.number(2) <= query.number(3)) return {};
    return static_cast<double>(query.number(1) - query.number(3)) /
           static_cast<double>(query.number(2) - query.number(3));
}

// Steps of one number that hardly overlap are not one step of all: what these ran could not run together.
bool are_at_one_time(const std::vector<BusySpan>& spans) {
    constexpr double kHardly = 0.25;  // of the shortest
    int64_t from_ns = INT64_MIN, until_ns = INT64_MAX, shortest_ns = INT64_MAX;
    for (const BusySpan& span : spans) {
        from_ns = std::max(from_ns, span.step.start_ns + span.offset_ns);
        until_ns = std::min(until_ns, span.step.end_ns + span.offset_ns);
        shortest_ns = std::min(shortest_ns, span.step.length_ns());
    }
    return static_cast<double>(until_ns - from_ns) >= kHardly * static_cast<double>(shortest_ns);
}

// In the step of each process; where they are slices, in the first GPU's, by the common clock.
std::optional<double> index_of_processes(const Gpus& gpus, const RunClocks& clocks) {
    const GpuSteps& first = *gpus.front();
    std::vector<BusySpan> spans;
    for (const auto& gpu : gpus) {
        const TraceFacts& facts = gpu->facts();
        const auto same = [&](const BusySpan& span) { return span.facts == &facts; };
        if (std::any_of(spans.begin(), spans.end(), same)) continue;
        const Step& span = facts.are_slices ? first.span() : gpu->span();
        const Interval step = {span.begin_ns, span.end_ns};
        const auto offset = clocks.offset(clocks.clock_of(facts.rank_id), step.start_ns);
        if (!offset) return {};
        spans.push_back({&facts, step, offset->point_ns});
        if (!facts.are_slices || spans.size() == 1) continue;
        const int64_t later_ns = offset->point_ns - spans.front().offset_ns;
        spans.back().step = {step.start_ns - later_ns, step.end_ns - later_ns};
    }
    if (!are_at_one_time(spans)) return {};
    const auto together = busy_together(spans);
    return together ? sequential_index(together->busy_ns, together->union_ns) : std::nullopt;
}

void write_step(const Gpus& gpus, const RunClocks& clocks, const std::optional<double>& index,
                ManyRows& across) {
    std::vector<int64_t> loads, own;
    for (const auto& gpu : gpus) {
        loads.push_back(gpu->compute_ns());
        own.push_back(gpu->own_work_ns());
    }
    const bool are_slices = gpus.front()->facts().are_slices;
    const auto starts = are_slices ? std::nullopt : starts_of(gpus, clocks);
    across.add({gpus.front()->step(), static_cast<int64_t>(gpus.size()),
                starts ? PlainValue(starts->stagger.stagger_ns) : PlainValue(nullptr),
                starts ? PlainValue(starts->idle_ns) : PlainValue(nullptr),
                starts ? PlainValue(starts->order) : PlainValue(nullptr), plain(imbalance(loads)),
                are_slices ? PlainValue(nullptr) : plain(step_skew(own)), plain(index)});
}

// What one computes in a second, over all of its slices that were timed: of one there are more than of
// another.
struct Load {
    double compute_ns = 0, window_ns = 0;
    void add(const GpuSteps& gpu) {
        compute_ns += static_cast<double>(gpu.compute_ns());
        window_ns += static_cast<double>(gpu.window_ns());
    }
    int64_t in_a_second() const { return window_ns > 0 ? to_int64(1e9 * compute_ns / window_ns) : 0; }
};

// Of several processes without steps: what ran at the same time in some of the first one's slices. Load is
// that of the whole run, and stands in the first row.
void write_slices(const Gpus& gpus, const CollectiveRun& all, RunDb& run) {
    const RunClocks& clocks = all.clocks;
    GpuSteps& first = *gpus.front();
    const auto every = static_cast<int64_t>(first.facts().steps.size()) / most_unions(all) + 1;
    std::vector<std::pair<int64_t, std::optional<double>>> rows;
    Load of_first;
    for (; first.has_row() && first.is_there(); first.next()) {
        of_first.add(first);
        if (rows.empty() || first.step() >= rows.back().first + every)
            rows.emplace_back(first.step(), index_of_processes(gpus, clocks));
    }
    std::vector<int64_t> loads = {of_first.in_a_second()};
    for (size_t i = 1; i < gpus.size(); ++i) {
        Load of_it;
        for (; gpus[i]->has_row(); gpus[i]->next()) of_it.add(*gpus[i]);
        loads.push_back(of_it.in_a_second());
    }
    std::optional<double> load = imbalance(loads);
    for (const auto& [step, index] : rows) {
        run.add("across", {step, static_cast<int64_t>(gpus.size()), nullptr, nullptr, nullptr, maybe(load),
                           nullptr, maybe(index)});
        load.reset();
    }
}

}  // namespace

void write_across(const CollectiveRun& all, RunDb& run) {
    const Gpus gpus = gpus_of(all, run);
    if (gpus.size() < 2) return;
    const bool one_process = is_one_process(gpus);
    if (!one_process && gpus.front()->facts().are_slices) return write_slices(gpus, all, run);
    if (!keep_step(gpus)) return;
    int64_t left = most_unions(all), from_step = INT64_MIN;
    const auto every = static_cast<int64_t>(gpus.front()->facts().steps.size()) / left + 1;
    ManyRows across(run, "across");
    for (; go_to_common_step(gpus); gpus.front()->next()) {
        std::optional<double> index;
        if (one_process) {
            index = index_in_process(gpus, run);
        } else if (left > 0 && gpus.front()->step() >= from_step) {
            index = index_of_processes(gpus, all.clocks);
            --left;
            from_step = gpus.front()->step() + every;
        }
        write_step(gpus, all.clocks, index, across);
    }
    across.end();
}

}  // namespace gpushim::analysis
