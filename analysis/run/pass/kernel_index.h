// Which kernel a call launched and how large, without a search: shapes have small numbers. Read-only; any
// thread.
#pragma once

#include <vector>

#include "facts.h"

namespace gpushim::analysis {

class KernelIndex {
  public:
    explicit KernelIndex(const TraceFacts& facts) : facts_(facts) {
        for (const auto& [id, shape] : facts.shapes) {
            if (id < 0 || id >= kMostShapes || shape.kernel < 0) continue;
            const auto at = static_cast<size_t>(id);
            if (at >= by_shape_.size()) by_shape_.resize(at + 1, {not_known(), 0});
            by_shape_[at] = {static_cast<size_t>(shape.kernel), shape.blocks};
        }
    }

    // Into facts.kernels; of a call that is a kernel.
    size_t of(const Call& call) const {
        const auto shape = static_cast<size_t>(call.detail);
        if (call.detail >= 0 && shape < by_shape_.size()) return by_shape_[shape].kernel;
        const Kernel* kernel = facts_.kernel_of(call);
        return kernel != nullptr ? static_cast<size_t>(kernel - facts_.kernels.data()) : not_known();
    }
    // Of its grid; 0: not recorded.
    int64_t blocks_of(const Call& call) const {
        const auto shape = static_cast<size_t>(call.detail);
        if (call.detail >= 0 && shape < by_shape_.size()) return by_shape_[shape].blocks;
        const auto found = facts_.shapes.find(call.detail);
        return found != facts_.shapes.end() ? found->second.blocks : 0;
    }
    size_t not_known() const { return facts_.kernels.size(); }

  private:
    static constexpr int64_t kMostShapes = 1 << 22;

    const TraceFacts& facts_;
    struct Known {
        size_t kernel;
        int64_t blocks;
    };
    std::vector<Known> by_shape_;
};

}  // namespace gpushim::analysis
