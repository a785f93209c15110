#include "trace_pass.h"

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
    TracePass(const TraceFacts& facts, const WaitOf& wait_of, Parts& parts)
        : facts_(facts), wait_of_(wait_of), index_(facts), parts_(parts) {
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
        const size_t steps = facts_.steps.size();
        while (step_ < steps && facts_.called_in(step_).end_ns <= call.enter_ns) ++step_;
        const bool is_told =
            facts_.called.empty() || TraceFacts::has_call(call);  // else it stands where it ran
        if (is_told && step_ < steps && facts_.called_in(step_).start_ns <= call.enter_ns)
            call.step = static_cast<int32_t>(step_);
        if (call.kind == CallKind::operation && call.type != OperationClass::h2d)
            call.wait_ns = wait_of_(call.enter_ns);
        if (call.kind == CallKind::operation && call.type == OperationClass::compute &&
            is_comm_[index_.of(call)])
            call.type = OperationClass::comm;
        beside_ ? beside_->see(call) : parts_.see(call);
    }

    std::vector<Call> piece(TimedSpan::Contents contents) override {
        return beside_ ? beside_->piece(std::move(contents)) : parts_.piece(std::move(contents));
    }

    void finish() {
        if (beside_) beside_->finish();
    }

  private:
    const TraceFacts& facts_;
    const WaitOf& wait_of_;
    const KernelIndex index_;
    std::vector<bool> is_comm_;  // by kernel
    std::vector<int64_t> cuts_;
    size_t step_ = 0;
    ProgressCount seen_;
    Parts& parts_;
    std::optional<PartsBeside> beside_;
};

}  // namespace

std::vector<DeviceBusy> pass_over(const TraceFacts& facts, const WaitOf& wait_of, RunDb& run,
                                  std::vector<std::unique_ptr<Part>> parts) {
    Parts all(facts, std::move(parts));
    TracePass pass(facts, wait_of, all);
    std::vector<DeviceBusy> busy = busy_of(*facts.trace, &pass);
    pass.finish();
    run.wait_for_turn(facts.rank_id);
    all.finish(run);
    return busy;
}

std::vector<DeviceBusy> pass_over(const TraceFacts& facts, const WaitOf& wait_of, RunDb& run) {
    return pass_over(facts, wait_of, run, make_parts(facts));
}

}  // namespace gpushim::analysis
