#include "trace_pass.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "../../terminal/progress.h"
#include "../sql/run_db.h"
#include "kernel_index.h"
#include "parts_beside.h"

namespace gpushim::analysis {

namespace {

class TracePass : public CallWatch {
  public:
    TracePass(const TraceFacts& facts, LaunchWaits waits, Parts& parts)
        : facts_(facts), waits_(waits), index_(facts), is_profiled_(!facts.called.empty()), parts_(parts) {
        for (const Kernel& kernel : facts.kernels)
            is_comm_.push_back(kernel.facts.comm_operation != CommOperation::none);
        is_comm_.push_back(false);  // the one that is not known
        for (const Step& step : facts.steps) cuts_.push_back(step.begin_ns);
        if (facts.reads_ahead) beside_.emplace(parts);
    }

    const std::vector<int64_t>& cuts() const override { return cuts_; }
    bool reads_ahead() const override { return facts_.reads_ahead; }

    void see(Call& call) override {
        ++seen_;
        if (call.enter_ns >= step_end_ns_) find_step(call.enter_ns);
        const bool is_told = !is_profiled_ || TraceFacts::has_call(call);  // else it stands where it ran
        if (is_told && step_begin_ns_ <= call.enter_ns) call.step = static_cast<int32_t>(step_);
        if (call.kind == CallKind::operation) {
            if (call.type != OperationClass::h2d && !waits_.empty()) call.wait_ns = wait_of(call.enter_ns);
            if (call.type == OperationClass::compute && is_comm_[index_.of(call)] != 0)
                call.type = OperationClass::comm;
        }
        beside_ ? beside_->see(call) : parts_.see(call);
    }

    std::vector<Call> piece(TimedSpan::Contents contents) override {
        return beside_ ? beside_->piece(std::move(contents)) : parts_.piece(std::move(contents));
    }

    void finish() {
        if (beside_) beside_->finish();
    }

  private:
    // The first one that ends behind that, if there is one.
    void find_step(int64_t enter_ns) {
        const size_t steps = facts_.steps.size();
        while (step_ < steps && facts_.called_in(step_).end_ns <= enter_ns) ++step_;
        const Interval step = step_ < steps ? facts_.called_in(step_) : Interval{INT64_MAX, INT64_MAX};
        step_begin_ns_ = step.start_ns;
        step_end_ns_ = step.end_ns;
    }

    // Calls come in order, so the next wait is near the last one.
    int64_t wait_of(int64_t enter_ns) {
        const auto is_before = [&](const LaunchWait& wait) { return wait.enter_ns < enter_ns; };
        if (next_wait_ > 0 && !is_before(waits_[next_wait_ - 1]))
            next_wait_ = static_cast<size_t>(std::partition_point(waits_.begin(), waits_.end(), is_before) -
                                             waits_.begin());
        while (next_wait_ < waits_.size() && is_before(waits_[next_wait_])) ++next_wait_;
        const bool is_it = next_wait_ < waits_.size() && waits_[next_wait_].enter_ns == enter_ns;
        return is_it ? waits_[next_wait_].wait_ns : kNotRecorded;
    }

    const TraceFacts& facts_;
    const LaunchWaits waits_;
    size_t next_wait_ = 0;
    const KernelIndex index_;
    const bool is_profiled_;
    std::vector<char> is_comm_;  // by kernel
    std::vector<int64_t> cuts_;
    size_t step_ = 0;  // that calls are in, or the next one
    int64_t step_begin_ns_ = INT64_MAX, step_end_ns_ = INT64_MIN;
    ProgressCount seen_;
    Parts& parts_;
    std::optional<PartsBeside> beside_;
};

}  // namespace

std::vector<DeviceBusy> pass_over(const TraceFacts& facts, LaunchWaits waits, RunDb& run,
                                  std::vector<std::unique_ptr<Part>> parts) {
    Parts all(facts, std::move(parts));
    TracePass pass(facts, waits, all);
    std::vector<DeviceBusy> busy = busy_of(*facts.trace, &pass);
    pass.finish();
    run.wait_for_turn(facts.rank_id);
    all.finish(run);
    return busy;
}

std::vector<DeviceBusy> pass_over(const TraceFacts& facts, LaunchWaits waits, RunDb& run) {
    return pass_over(facts, waits, run, make_parts(facts));
}

}  // namespace gpushim::analysis
