#include "busy_rows.h"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <tuple>

#include "../sql/run_db.h"

namespace gpushim::analysis {

namespace {

// Few that are nearly in order, as they mostly are; what is alike stays in its order.
template <class Rows, class Less>
void sort_some(Rows from, Rows until, Less less) {
    constexpr std::ptrdiff_t kSome = 32;
    if (until - from > kSome) return std::stable_sort(from, until, less);
    for (auto row = from; row != until; ++row)
        std::rotate(std::upper_bound(from, row, *row, less), row, row + 1);
}

// In order of their steps, what lies in none first, and of their keys in that; those of one key added up.
// Sweeps give steps as they come, and between them what lies in none.
template <class Row, class Key, class Add>
void merge(std::vector<Row>& rows, Key key, Add add) {
    const auto in_steps =
        std::stable_partition(rows.begin(), rows.end(), [](const Row& row) { return row.step == kNoStep; });
    const auto by_step = [](const Row& a, const Row& b) { return a.step < b.step; };
    if (!std::is_sorted(in_steps, rows.end(), by_step)) std::stable_sort(in_steps, rows.end(), by_step);
    auto end = rows.begin();
    for (auto from = rows.begin(), until = from; from != rows.end();) {
        while (until != rows.end() && until->step == from->step) ++until;
        sort_some(from, until, [&](const Row& a, const Row& b) { return key(a) < key(b); });
        for (auto first = from; from != until; ++from)
            if (from != first && key(end[-1]) == key(*from))
                add(end[-1], *from);
            else
                *end++ = *from;
    }
    rows.erase(end, rows.end());
}

constexpr double kLike = 2;            // times as long, or as short
constexpr double kFarMoreOften = 0.5;  // than among all
constexpr double kMuch = 1.0 / 3;      // of the time in whole steps
constexpr double kLonger = 1.25;       // on average, or as much shorter: sums of some are no part of all

double share_like(const std::vector<int64_t>& all_ns, int64_t one_ns) {
    const auto one = static_cast<double>(one_ns);
    const auto like = std::count_if(all_ns.begin(), all_ns.end(), [&](int64_t ns) {
        return static_cast<double>(ns) >= one / kLike && static_cast<double>(ns) <= one * kLike;
    });
    return static_cast<double>(like) / static_cast<double>(all_ns.size());
}

double mean(const std::vector<int64_t>& all_ns) {
    double sum = 0;
    for (const int64_t ns : all_ns) sum += static_cast<double>(ns);
    return sum / static_cast<double>(all_ns.size());
}

// Whether the mean of some is none of all: where every third waits for data, two may both be of the long
// ones.
bool are_no_sample(const std::vector<int64_t>& timed_ns, const std::vector<int64_t>& all_ns) {
    if (timed_ns.empty() || 2 * timed_ns.size() >= all_ns.size()) return false;
    const double times = mean(timed_ns) / mean(all_ns);
    return times > kLonger || times * kLonger < 1;
}

// Whether steps of these lengths are what most are not. Of windows shorter than the steps only odd ones are
// timed as a whole, such as those in which the host is ahead and takes no time.
bool are_unlike_most(std::vector<int64_t> timed_ns, const std::vector<int64_t>& all_ns) {
    if (timed_ns.empty() || 2 * timed_ns.size() >= all_ns.size()) return false;
    const auto middle = timed_ns.begin() + static_cast<std::ptrdiff_t>(timed_ns.size() / 2);
    std::nth_element(timed_ns.begin(), middle, timed_ns.end());
    const int64_t usual_ns = *middle;
    return share_like(timed_ns, usual_ns) > share_like(all_ns, usual_ns) + kFarMoreOften;
}

struct Together {  // GPUs of one step
    int64_t gpus = 0, sum_ns = 0, longest_ns = 0;
};

// What activity says of one step.
struct Window {
    int32_t step;
    int64_t ns = 0, idle_ns = 0, peer_wait_ns = 0;
};

class Writer {
  public:
    Writer(RunDb& run, const TraceFacts& facts) : run_(run), facts_(facts) {
        for (const std::string& name : facts.host_classes) names_.push_back(name);
        for (size_t i = 0; i < facts.steps.size(); ++i)
            if (const auto length_ns = counted_ns(static_cast<int64_t>(i))) counted_ns_.push_back(*length_ns);
    }
    void write(const Gpu& gpu, GpuSweep& sweep) {
        gpu_ = &gpu;
        written_ = WrittenGpu{gpu.gpu_id};
        windows_.clear();
        activity(sweep.activity().finish());
        gaps(sweep.idle().rows());
        figures(sweep.figures());
        run_.keep(std::move(written_));
        contention(sweep.idle().contention());
        python(sweep.idle().python());
        stages(sweep.idle().stages());
        if (sweep.activity().invalid() + sweep.early() != 0)
            run_.add("odd_operation", {gpu.gpu_id, sweep.activity().invalid(), sweep.early()});
    }
    void together(const UnionByStep& any) {
        RowsInOrder table(run_, "together");
        for (const auto& [step, together] : together_) {
            const auto found = any.find(step);
            const int64_t union_ns = found != any.end() ? found->second : together.sum_ns;
            table.add({facts_.rank_id, int64_t{step}, together.gpus, union_ns, together.sum_ns,
                       together.longest_ns});
        }
        table.end();
    }

  private:
    void activity(std::vector<ActivityRow> rows) {
        RowsInOrder table(run_, "activity");
        merge(
            rows, [](const ActivityRow& row) { return row.classes; },
            [](ActivityRow& row, const ActivityRow& other) { row.ns += other.ns; });
        for (const ActivityRow& row : rows) {
            table.add({gpu_->gpu_id, int64_t{row.step}, int64_t{row.classes}, row.ns});
            if (windows_.empty() || windows_.back().step != row.step) windows_.push_back({row.step});
            Window& window = windows_.back();
            window.ns += row.ns;
            if (row.classes == 0) window.idle_ns += row.ns;
            if ((row.classes & kPeerWaitBit) != 0 && (row.classes & kComputeBits) == 0)
                window.peer_wait_ns += row.ns;
        }
        table.end();
        written_.activity = std::move(rows);
        for (const Window& window : windows_) {
            Together& together = together_.try_emplace(together_.end(), window.step)->second;
            const int64_t busy_ns = window.ns - window.idle_ns;
            together.gpus += busy_ns != 0;
            together.sum_ns += busy_ns;
            together.longest_ns = std::max(together.longest_ns, busy_ns);
        }
    }
    void gaps(std::vector<GapRow> rows) {
        RowsInOrder table(run_, "gap");
        merge(
            rows,
            [&](const GapRow& row) {
                return std::tuple<Cause, const std::string&>(row.cause, name(row.blocked_on));
            },
            [](GapRow& row, const GapRow& other) { row += other; });
        written_.gap_steps.reserve(rows.size());
        written_.gaps.reserve(rows.size());
        for (const GapRow& row : rows) {
            table.add({gpu_->gpu_id, int64_t{row.step}, name_of(row.cause), name(row.blocked_on), row.ns,
                       row.pieces, row.longest_ns, row.longest_from_ns, row.drained_ns});
            written_.gap_steps.push_back(row.step);
            written_.gaps.push_back(
                {row.ns, row.drained_ns, row.longest_ns, static_cast<int32_t>(row.pieces), row.cause});
        }
        table.end();
        auto row = rows.begin();
        for (const Window& window : windows_) {
            int64_t caused_ns = 0;
            for (; row != rows.end() && row->step == window.step; ++row) caused_ns += row->ns;
            if (caused_ns != window.idle_ns) refuse(window.step, caused_ns, window.idle_ns);
        }
        if (row != rows.end()) refuse(row->step, row->ns, 0);
    }
    [[noreturn]] void refuse(int32_t step, int64_t causes_ns, int64_t idle_ns) const {
        throw std::logic_error("rank " + std::to_string(facts_.rank_id) + ", GPU " +
                               std::to_string(gpu_->device_id) + ", step " + std::to_string(step) +
                               ": the causes of idle time are " + std::to_string(causes_ns) +
                               " ns, idle time is " + std::to_string(idle_ns) + " ns");
    }
    void figures(std::vector<StepFigures>& rows) {
        RowsInOrder table(run_, "gpu_step");
        merge(
            rows, [](const StepFigures& row) { return row.step; },
            [](StepFigures& row, const StepFigures& other) { row += other; });
        std::vector<int64_t> timed_ns;
        int64_t whole_ns = 0;  // of windows, in such steps
        written_.steps.reserve(rows.size());
        auto found = windows_.begin();
        for (const StepFigures& row : rows) {
            while (found != windows_.end() && found->step < row.step) ++found;
            if (found == windows_.end() || found->step != row.step) continue;  // it has no length
            const Window& window = *found;
            if (const auto length_ns = counted_ns(row.step)) {
                timed_ns.push_back(*length_ns);
                whole_ns += window.ns;
            }
            table.add({gpu_->gpu_id, int64_t{row.step}, window.ns, row.busy_low_ns, row.busy_high_ns,
                       row.busy_likely_low_ns, row.busy_likely_high_ns, row.launches.operations,
                       row.launches.timed, plain(row.first_launch_ns), row.launches.api_ns,
                       row.launches.between_ns, window.ns - window.peer_wait_ns});
            written_.launches_in_steps |= row.step != kNoStep && row.launches.operations > 0;
            written_.steps.push_back({row.step, window.ns, row.busy_low_ns, row.busy_high_ns,
                                      row.busy_likely_low_ns, row.busy_likely_high_ns,
                                      window.ns - window.peer_wait_ns,
                                      row.first_launch_ns.value_or(kNotRecorded)});
        }
        table.end();
        // Spans tell more only if they hold much that no whole step does.
        const bool has_rest = !windows_.empty() && windows_.front().step == kNoStep;
        const bool has_more =
            has_rest && static_cast<double>(windows_.front().ns) >= kMuch * static_cast<double>(whole_ns);
        if ((has_more && are_no_sample(timed_ns, counted_ns_)) || are_unlike_most(timed_ns, counted_ns_))
            run_.add("unlike_steps", {gpu_->gpu_id});
    }
    // Of a step that counts.
    std::optional<int64_t> counted_ns(int64_t step) const {
        if (facts_.are_slices || step < 0 || step >= static_cast<int64_t>(facts_.steps.size())) return {};
        const Step& one = facts_.steps[static_cast<size_t>(step)];
        return one.is_warm_up || one.is_left_out ? std::nullopt : std::optional(one.length_ns());
    }
    void contention(std::vector<ContentionRow> rows) {
        merge(
            rows, [](const ContentionRow& row) { return row.cause; },
            [](ContentionRow& row, const ContentionRow& other) { row.ready_ns += other.ready_ns; });
        for (const ContentionRow& row : rows)
            run_.add("cpu_contention",
                     {gpu_->gpu_id, int64_t{row.step}, std::string(name_of(row.cause)), row.ready_ns});
    }
    void python(const PythonSums& sums) {
        for (const auto& [key, sum] : sums) {
            const auto& [step, cause, number] = key;
            const PythonPlaceIn& place = facts_.python.places[static_cast<size_t>(number)];
            const PythonLine& line = facts_.python.lines[static_cast<size_t>(place.line)];
            const bool is_inside = place.inside != PythonPlaceIn::kNoLine;
            const PythonLine in =
                is_inside ? facts_.python.lines[static_cast<size_t>(place.inside)] : PythonLine{};
            run_.add("idle_python",
                     {gpu_->gpu_id, int64_t{step}, std::string(name_of(cause)), line.file, line.function,
                      maybe(line.line), sum.ns, sum.samples, in.file, in.function, maybe(in.line)});
        }
    }
    void stages(const StageSums& sums) {
        for (const auto& [key, ns] : sums)
            run_.add("input_stage", {gpu_->gpu_id, int64_t{key.first}, std::string(name_of(key.second)), ns});
    }
    const std::string& name(int32_t blocked_on) const {
        static const std::string kNone;
        const auto index = static_cast<size_t>(blocked_on);
        return blocked_on >= 0 && index < names_.size() ? names_[index] : kNone;
    }

    RunDb& run_;
    const TraceFacts& facts_;
    std::vector<std::string> names_;  // of what threads were blocked on
    std::vector<int64_t> counted_ns_;
    const Gpu* gpu_ = nullptr;
    WrittenGpu written_ = WrittenGpu{0};
    std::vector<Window> windows_;  // of that GPU, by step
    std::map<int32_t, Together> together_;
};

}  // namespace

void write_busy(RunDb& run, const TraceFacts& facts, std::vector<GpuSweep>& sweeps, const UnionByStep& any) {
    Writer writer(run, facts);
    for (size_t i = 0; i < sweeps.size(); ++i) writer.write(facts.gpus[i], sweeps[i]);
    writer.together(any);
}

}  // namespace gpushim::analysis
