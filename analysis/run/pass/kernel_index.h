// Which kernel a call launched and how large: asked of every operation by several parts, so it is a place in
// a vector. Read-only once made; any thread.
#pragma once

#include <vector>

#include "facts.h"

namespace gpushim::analysis {

class KernelIndex {
  public:
    explicit KernelIndex(const TraceFacts& facts) : none_{0, facts.kernels.size()}, facts_(facts) {
        facts.shapes.each([&](int64_t id, const Shape& shape) {
            if (id < 0 || id >= kMost) return;
            const auto place = static_cast<size_t>(id);
            if (place >= of_shape_.size()) of_shape_.resize(place + 1, none_);
            of_shape_[place] = launched_by(shape);
        });
    }

    struct Launched {
        int64_t blocks;  // of its grid; 0: not recorded
        size_t kernel;   // into facts.kernels, or not_known()
    };
    // By a call that is a kernel.
    Launched launched(const Call& call) const {
        const auto id = static_cast<uint64_t>(call.detail);
        return id < of_shape_.size() ? of_shape_[id] : launched_by_other(call.detail);
    }
    size_t of(const Call& call) const {
        const auto id = static_cast<uint64_t>(call.detail);
        return id < of_shape_.size() ? of_shape_[id].kernel : launched_by_other(call.detail).kernel;
    }
    size_t not_known() const { return none_.kernel; }

  private:
    static constexpr int64_t kMost = 1 << 16;  // shapes: what has a higher number is looked up

    Launched launched_by(const Shape& shape) const {
        return {shape.blocks, shape.kernel >= 0 ? static_cast<size_t>(shape.kernel) : not_known()};
    }
    Launched launched_by_other(int64_t id) const {
        const Shape* shape = facts_.shapes.find(id);
        return shape != nullptr ? launched_by(*shape) : none_;
    }

    const Launched none_;
    std::vector<Launched> of_shape_;  // by shape.id
    const TraceFacts& facts_;
};

}  // namespace gpushim::analysis
