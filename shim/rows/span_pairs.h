// Which beginning an end of a range belongs to. Pushes and pops by thread, domain and depth, as the shim
// counted it when they were made, so that a lost event spoils the ranges around it only; starts and ends by
// their id. The writer's thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "../sqlite/rows.h"

namespace gpushim::shim {

struct SpanBegun {
    int64_t enter_ns = kNull;  // kNull: its event was lost
    int64_t name_id = kNull;
    int64_t category = kNull;
    int64_t payload = kNull;
    bool is_step = false;
};

class SpanPairs {
  public:
    void pushed(int64_t thread, int64_t domain_id, int64_t depth, const SpanBegun& begun) {
        if (depth < 0 || depth >= kDeepest) return;
        auto& stack = stacks_[{thread, domain_id}];
        stack.resize(static_cast<size_t>(depth));
        stack.push_back(begun);
    }
    SpanBegun popped(int64_t thread, int64_t domain_id, int64_t depth) {
        auto& stack = stacks_[{thread, domain_id}];
        if (depth < 0 || static_cast<size_t>(depth) >= stack.size()) return {};
        const SpanBegun begun = stack[static_cast<size_t>(depth)];
        stack.resize(static_cast<size_t>(depth));
        return begun;
    }

    // Ranges that nobody ends are forgotten when there are too many.
    void started(int64_t id, const SpanBegun& begun) {
        if (started_.size() >= kMostStarted) started_.clear();
        started_[id] = begun;
    }
    SpanBegun ended(int64_t id) {
        const auto node = started_.extract(id);
        return node.empty() ? SpanBegun() : node.mapped();
    }

  private:
    static constexpr int64_t kDeepest = 65536;
    static constexpr size_t kMostStarted = 65536;

    std::map<std::pair<int64_t, int64_t>, std::vector<SpanBegun>> stacks_;
    std::unordered_map<int64_t, SpanBegun> started_;
};

}  // namespace gpushim::shim
