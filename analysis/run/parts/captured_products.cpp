#include "captured_products.h"

#include <algorithm>

#include "../../../shim/schema/flags.h"

namespace gpushim::analysis {

void add_count(int64_t& to, int64_t count) {
    constexpr int64_t kMost = int64_t{1} << 40;  // graphs in graphs of a damaged trace
    to = std::clamp(to + std::clamp(count, int64_t{0}, kMost), int64_t{0}, kMost);
}

void CapturedWork::add(const CapturedWork& other) {
    add_count(products, other.products);
    flops += other.flops;
    for (const auto& [kernel, launches] : other.in_products) add_count(in_products[kernel], launches);
    for (const auto& [kernel, launches] : other.captured) add_count(captured[kernel], launches);
    for (const auto& [node, child] : other.children) children[node] = child;
    if (why == nullptr) why = other.why;
}

CapturedWork CapturedWork::flat() const {
    CapturedWork all = *this;
    all.children.clear();
    for (const auto& [node, child] : children) all.add(*child);
    return all;
}

// In order of time; each is at the row that comes next.
struct Captures::Rows {
    Query products, launches, graphs;
    bool has_product = false, has_launch = false, has_graph = false;

    Rows(const Database& base, int64_t from_ns)
        : products(base.prepare("SELECT enter_ns, exit_ns, thread_id, flops FROM v_gemm WHERE enter_ns >= ?1"
                                " AND exit_ns IS NOT NULL AND flops IS NOT NULL AND failed = 0"
                                " ORDER BY enter_ns")),
          // All of them: a search for those that were captured would read on to the end of the trace.
          launches(base.prepare("SELECT enter_ns, thread_id, stream_id, shape_id, flags FROM launch"
                                " WHERE enter_ns >= ?1 ORDER BY enter_ns")),
          graphs(base.prepare("SELECT enter_ns, stream_id, graph_id, flags FROM graph_launch"
                              " WHERE enter_ns >= ?1 ORDER BY enter_ns")) {
        for (Query* query : {&products, &launches, &graphs}) query->bind(1, from_ns);
        has_product = products.step();
        has_launch = launches.step();
        has_graph = graphs.step();
    }
    static bool is_captured(int64_t flags) {
        return (flags & (kRowCaptured | kRowFailed | kRowUnfinished)) == kRowCaptured;
    }
};

Captures::Captures(const TraceFacts& facts, Graphs& graphs) : facts_(facts), graphs_(graphs) {}
Captures::~Captures() = default;

void Captures::begin(int64_t stream_id, int64_t enter_ns, bool replaces) {
    if (!rows_) rows_ = std::make_unique<Rows>(facts_.trace->base, enter_ns);
    open_[stream_id] = {{}, replaces};
}

std::optional<Captures::Ended> Captures::end(int64_t stream_id) {
    const auto found = open_.find(stream_id);
    if (found == open_.end()) return {};
    std::optional<Ended> ended = std::move(found->second);
    open_.erase(found);
    if (open_.empty()) {
        rows_.reset();
        of_thread_.clear();
    }
    return ended;
}

Captures::Ended* Captures::capture_of(int64_t stream_id) {
    const auto found = open_.find(stream_id);
    if (found != open_.end()) return &found->second;
    return open_.size() == 1 ? &open_.begin()->second : nullptr;
}

size_t Captures::kernel_of(int64_t shape_id) const {
    const auto shape = facts_.shapes.find(shape_id);
    if (shape == facts_.shapes.end() || shape->second.kernel < 0) return facts_.kernels.size();
    return static_cast<size_t>(shape->second.kernel);
}

void Captures::take_launch() {
    Rows& rows = *rows_;
    const int64_t enter_ns = rows.launches.number(0);
    for (; rows.has_product && rows.products.number(0) <= enter_ns; rows.has_product = rows.products.step())
        of_thread_[rows.products.number(2)] = {rows.products.number(1), rows.products.real(3), false};
    Ended* capture = capture_of(rows.launches.number(2));
    if (capture == nullptr) return;
    CapturedWork& work = capture->work;
    const size_t kernel = kernel_of(rows.launches.number(3));
    ++work.captured[kernel];
    const auto product = of_thread_.find(rows.launches.number(1));
    if (product == of_thread_.end() || enter_ns >= product->second.exit_ns) return;
    ++work.in_products[kernel];
    if (product->second.is_placed) return;
    product->second.is_placed = true;
    ++work.products;
    work.flops += product->second.flops;
}

void Captures::read_until(int64_t enter_ns) {
    if (!rows_) return;
    Rows& rows = *rows_;
    for (; rows.has_launch && rows.launches.number(0) < enter_ns; rows.has_launch = rows.launches.step())
        if (Rows::is_captured(rows.launches.number(4))) take_launch();
    for (; rows.has_graph && rows.graphs.number(0) < enter_ns; rows.has_graph = rows.graphs.step()) {
        Ended* capture = capture_of(rows.graphs.number(1));
        if (capture != nullptr && Rows::is_captured(rows.graphs.number(3)))
            capture->work.add(graphs_.held_by(rows.graphs.number(2)));
    }
}

}  // namespace gpushim::analysis
