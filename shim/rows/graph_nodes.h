// The nodes of one executable graph, child graphs' included, and what one launch of it runs. What is not
// known is unknown as a whole: a count that misses something is none. The writer's thread only.
//
//   instantiated   told(all) ── value, enable ──── launch: totals()
//   updated        awaits(all), told(all) ── …     nodes switched off stay off; where one of them is not
//                                                  found again, nobody knows what runs
//                  awaits(all), stays_as_it_was
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_set>
#include <vector>

#include "../ring/ring_format.h"

namespace gpushim::shim {

struct GraphItem {
    uint64_t node;    // its handle: in the graph that it was taken from
    uint64_t parent;  // the child graph's node that holds it; 0: none
    int64_t value;    // a kernel's function (handle.id), a copy's bytes; kNull: not known
    GraphNode kind;
};

struct GraphTotals {
    int64_t of[4] = {};  // by GraphNode
    int64_t bytes = 0;   // of copies; kNull: not known
    std::map<int64_t, int64_t> kernels;
    bool operator==(const GraphTotals&) const = default;
};

class GraphNodes {
  public:
    // What is below that node (0: everything) is about to change into something that has still to be told.
    void awaits(uint64_t below);
    void told(std::vector<GraphItem>&& items, uint64_t below);
    bool stays_as_it_was(uint64_t below);  // false: what it was is not known either

    void set_value(uint64_t node, int64_t value);
    void enable(uint64_t node, bool on);

    std::optional<GraphTotals> totals() const;  // nothing: not known

  private:
    const GraphItem* find(uint64_t node) const;
    bool is_below(const GraphItem& item, uint64_t node) const;

    std::vector<GraphItem> items_;  // by node
    std::unordered_set<uint64_t> disabled_;
    bool known_ = false, was_known_ = false;  // before what is awaited
    uint64_t awaited_ = 0;  // while not known: all but what is below this node is; 0: nothing is
};

}  // namespace gpushim::shim
