// Which kernel a call launched and how large. Read-only; any thread.
#pragma once

#include "facts.h"

namespace gpushim::analysis {

class KernelIndex {
  public:
    explicit KernelIndex(const TraceFacts& facts) : facts_(facts) {}

    // Into facts.kernels; of a call that is a kernel.
    size_t of(const Call& call) const {
        const Shape* shape = facts_.shapes.find(call.detail);
        return shape != nullptr && shape->kernel >= 0 ? static_cast<size_t>(shape->kernel) : not_known();
    }
    // Of its grid; 0: not recorded.
    int64_t blocks_of(const Call& call) const {
        const Shape* shape = facts_.shapes.find(call.detail);
        return shape != nullptr ? shape->blocks : 0;
    }
    size_t not_known() const { return facts_.kernels.size(); }

  private:
    const TraceFacts& facts_;
};

}  // namespace gpushim::analysis
