// Which launch of each kernel was the first that was recorded: the driver may load the kernel's code in it.
// Calls are seen in order of time, and asked about later. One thread.
#pragma once

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "../pass/facts.h"

namespace gpushim::analysis {

class FirstLaunches {
  public:
    explicit FirstLaunches(const TraceFacts& facts)
        : facts_(facts), first_ns_(facts.kernels.size(), INT64_MAX) {}

    void see(const Call& call) {
        if (!is_of_kernel(call) || !shapes_.insert(call.detail).second) return;
        if (int64_t* first_ns = first_ns_of(call)) *first_ns = std::min(*first_ns, call.enter_ns);
    }
    // A node of a graph is launched with the others.
    bool has(const Call& call) {
        if (!is_of_kernel(call) || facts_.is_node(call)) return false;
        const int64_t* first_ns = first_ns_of(call);
        return first_ns != nullptr && *first_ns == call.enter_ns;
    }

  private:
    static bool is_of_kernel(const Call& call) {
        return call.kind == CallKind::operation && call.detail >= 0 &&
               (call.type == OperationClass::compute || call.type == OperationClass::comm);
    }
    int64_t* first_ns_of(const Call& call) {
        const auto shape = facts_.shapes.find(call.detail);
        if (shape == facts_.shapes.end() || shape->second.kernel < 0) return nullptr;
        return &first_ns_[static_cast<size_t>(shape->second.kernel)];
    }

    const TraceFacts& facts_;
    std::unordered_set<int64_t> shapes_;  // seen
    std::vector<int64_t> first_ns_;       // by kernel
};

}  // namespace gpushim::analysis
