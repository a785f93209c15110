#include "graph_nodes.h"

#include <algorithm>

#include "../sqlite/rows.h"

namespace gpushim::shim {

const GraphItem* GraphNodes::find(uint64_t node) const {
    const auto place =
        std::lower_bound(items_.begin(), items_.end(), node,
                         [](const GraphItem& item, uint64_t wanted) { return item.node < wanted; });
    return place != items_.end() && place->node == node ? &*place : nullptr;
}

bool GraphNodes::is_below(const GraphItem& item, uint64_t node) const {
    for (const GraphItem* at = &item; at != nullptr && at->parent != 0; at = find(at->parent))
        if (at->parent == node) return true;
    return false;
}

void GraphNodes::awaits(uint64_t below) {
    was_known_ = known_;
    if (known_)
        awaited_ = below;
    else if (awaited_ != below)
        awaited_ = 0;
    known_ = false;
}

void GraphNodes::told(std::vector<GraphItem>&& items, uint64_t below) {
    if (below == 0) {
        items_.clear();
    } else {
        if (known_ || awaited_ != below || find(below) == nullptr) return;
        // Found out before any is moved: the search needs them all in their places.
        std::unordered_set<uint64_t> gone;
        for (const GraphItem& item : items_)
            if (is_below(item, below)) gone.insert(item.node);
        std::erase_if(items_, [&](const GraphItem& item) { return gone.contains(item.node); });
        for (GraphItem& item : items)
            if (item.parent == 0) item.parent = below;
    }
    items_.insert(items_.end(), items.begin(), items.end());
    std::sort(items_.begin(), items_.end(),
              [](const GraphItem& a, const GraphItem& b) { return a.node < b.node; });
    known_ = true;
    awaited_ = 0;
}

bool GraphNodes::stays_as_it_was(uint64_t below) {
    if (known_ || !was_known_ || awaited_ != below) return false;
    known_ = true;
    awaited_ = 0;
    return true;
}

// A node of the graph that it was once made from, where the contents are another graph's: which of its nodes
// is meant, only the driver knows.
void GraphNodes::set_value(uint64_t node, int64_t value) {
    if (const GraphItem* item = find(node))
        items_[static_cast<size_t>(item - items_.data())].value = value;
    else
        known_ = false, awaited_ = 0;
}

void GraphNodes::enable(uint64_t node, bool on) {
    if (on)
        disabled_.erase(node);
    else
        disabled_.insert(node);
}

std::optional<GraphTotals> GraphNodes::totals() const {
    if (!known_) return {};
    for (const uint64_t node : disabled_)
        if (find(node) == nullptr) return {};
    GraphTotals totals;
    for (const GraphItem& item : items_) {
        if (item.kind == GraphNode::child || disabled_.contains(item.node)) continue;
        ++totals.of[static_cast<size_t>(item.kind)];
        if (item.kind == GraphNode::kernel) ++totals.kernels[item.value];
        if (item.kind != GraphNode::copy || totals.bytes == kNull) continue;
        totals.bytes = item.value == kNull ? kNull : totals.bytes + item.value;
    }
    return totals;
}

}  // namespace gpushim::shim
