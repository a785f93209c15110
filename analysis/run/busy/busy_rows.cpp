#include "busy_rows.h"

#include <stdexcept>
#include <tuple>

#include "../sql/run_db.h"

namespace gpushim::analysis {

namespace {

// Sorted by key, those of one key added up.
template <class Row, class Key, class Add>
void merge(std::vector<Row>& rows, Key key, Add add) {
    std::sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) { return key(a) < key(b); });
    size_t count = 0;
    for (const Row& row : rows) {
        if (count != 0 && key(rows[count - 1]) == key(row))
            add(rows[count - 1], row);
        else
            rows[count++] = row;
    }
    rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(count), rows.end());
}

struct Together {  // GPUs of one step
    int64_t gpus = 0, sum_ns = 0, longest_ns = 0;
};

// What activity says of one step.
struct Window {
    int64_t ns = 0, idle_ns = 0, peer_wait_ns = 0;
};

class Writer {
  public:
    Writer(RunDb& run, const TraceFacts& facts) : run_(run), facts_(facts) {
        for (const std::string& name : facts.host_classes) names_.push_back(name);
    }
    void write(const Gpu& gpu, GpuSweep& sweep) {
        gpu_ = &gpu;
        windows_.clear();
        activity(sweep.activity().finish());
        gaps(sweep.idle().rows());
        figures(sweep.figures());
        contention(sweep.idle().contention());
        python(sweep.idle().python());
        if (sweep.activity().invalid() + sweep.early() != 0)
            run_.add("odd_operation", {gpu.gpu_id, sweep.activity().invalid(), sweep.early()});
    }
    void together(const UnionByStep& any) {
        for (const auto& [step, together] : together_) {
            const auto found = any.find(step);
            const int64_t union_ns = found != any.end() ? found->second : together.sum_ns;
            run_.add("together", {facts_.rank_id, int64_t{step}, together.gpus, union_ns, together.sum_ns,
                                  together.longest_ns});
        }
    }

  private:
    void activity(std::vector<ActivityRow> rows) {
        merge(
            rows, [](const ActivityRow& row) { return std::pair(row.step, row.classes); },
            [](ActivityRow& row, const ActivityRow& other) { row.ns += other.ns; });
        for (const ActivityRow& row : rows) {
            run_.add("activity", {gpu_->gpu_id, int64_t{row.step}, int64_t{row.classes}, row.ns});
            Window& window = windows_[row.step];
            window.ns += row.ns;
            if (row.classes == 0) window.idle_ns += row.ns;
            if ((row.classes & kPeerWaitBit) != 0 && (row.classes & kComputeBits) == 0)
                window.peer_wait_ns += row.ns;
        }
        for (const auto& [step, window] : windows_) {
            Together& together = together_[step];
            const int64_t busy_ns = window.ns - window.idle_ns;
            together.gpus += busy_ns != 0;
            together.sum_ns += busy_ns;
            together.longest_ns = std::max(together.longest_ns, busy_ns);
        }
    }
    void gaps(std::vector<GapRow> rows) {
        merge(
            rows,
            [&](const GapRow& row) {
                return std::tuple<int32_t, Cause, const std::string&>(row.step, row.cause,
                                                                      name(row.blocked_on));
            },
            [](GapRow& row, const GapRow& other) { row += other; });
        std::map<int32_t, int64_t> caused_ns;
        for (const GapRow& row : rows) {
            caused_ns[row.step] += row.ns;
            run_.add("gap",
                     {gpu_->gpu_id, int64_t{row.step}, std::string(name_of(row.cause)), name(row.blocked_on),
                      row.ns, row.pieces, row.longest_ns, row.longest_from_ns, row.drained_ns});
        }
        for (const auto& [step, window] : windows_)
            if (caused_ns[step] != window.idle_ns) refuse(step, caused_ns[step], window.idle_ns);
        if (caused_ns.size() != windows_.size()) refuse(caused_ns.rbegin()->first, 1, 0);
    }
    [[noreturn]] void refuse(int32_t step, int64_t causes_ns, int64_t idle_ns) const {
        throw std::logic_error("rank " + std::to_string(facts_.rank_id) + ", GPU " +
                               std::to_string(gpu_->device_id) + ", step " + std::to_string(step) +
                               ": the causes of idle time are " + std::to_string(causes_ns) +
                               " ns, idle time is " + std::to_string(idle_ns) + " ns");
    }
    void figures(std::vector<StepFigures>& rows) {
        merge(
            rows, [](const StepFigures& row) { return row.step; },
            [](StepFigures& row, const StepFigures& other) { row += other; });
        for (const StepFigures& row : rows) {
            const auto found = windows_.find(row.step);
            if (found == windows_.end()) continue;  // it has no length
            const Window& window = found->second;
            run_.add("gpu_step",
                     {gpu_->gpu_id, int64_t{row.step}, window.ns, row.busy_low_ns, row.busy_high_ns,
                      row.busy_likely_low_ns, row.busy_likely_high_ns, row.launches.operations,
                      row.launches.timed, maybe(row.first_launch_ns), row.launches.api_ns,
                      row.launches.between_ns, window.ns - window.peer_wait_ns});
        }
    }
    void contention(std::vector<ContentionRow> rows) {
        merge(
            rows, [](const ContentionRow& row) { return std::pair(row.step, row.cause); },
            [](ContentionRow& row, const ContentionRow& other) { row.ready_ns += other.ready_ns; });
        for (const ContentionRow& row : rows)
            run_.add("cpu_contention",
                     {gpu_->gpu_id, int64_t{row.step}, std::string(name_of(row.cause)), row.ready_ns});
    }
    void python(const PythonSums& sums) {
        for (const auto& [key, sum] : sums) {
            const PythonLine& line = facts_.python.lines[static_cast<size_t>(key.second)];
            run_.add("idle_python", {gpu_->gpu_id, std::string(name_of(key.first)), line.file, line.function,
                                     maybe(line.line), sum.ns, sum.samples});
        }
    }
    const std::string& name(int32_t blocked_on) const {
        static const std::string kNone;
        const auto index = static_cast<size_t>(blocked_on);
        return blocked_on >= 0 && index < names_.size() ? names_[index] : kNone;
    }

    RunDb& run_;
    const TraceFacts& facts_;
    std::vector<std::string> names_;  // of what threads were blocked on
    const Gpu* gpu_ = nullptr;
    std::map<int32_t, Window> windows_;  // by step, of that GPU
    std::map<int32_t, Together> together_;
};

}  // namespace

void write_busy(RunDb& run, const TraceFacts& facts, std::vector<GpuSweep>& sweeps, const UnionByStep& any) {
    Writer writer(run, facts);
    for (size_t i = 0; i < sweeps.size(); ++i) writer.write(facts.gpus[i], sweeps[i]);
    writer.together(any);
}

}  // namespace gpushim::analysis
