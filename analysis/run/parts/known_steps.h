// Whether calls lie in a step that is known from begin to end (TraceFacts::is_in_step): asked once for each
// step, since calls come step by step. One thread.
#pragma once

#include "../pass/facts.h"

namespace gpushim::analysis {

class KnownSteps {
  public:
    explicit KnownSteps(const TraceFacts& facts) : facts_(facts) {}  // which must outlive this

    bool has(const Call& call) {
        if (call.step != step_) {
            step_ = call.step;
            is_known_ = facts_.is_in_step(call);
        }
        return is_known_;
    }

  private:
    const TraceFacts& facts_;
    int32_t step_ = kNoStep;  // that was asked of last; kNoStep is none
    bool is_known_ = false;
};

}  // namespace gpushim::analysis
