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

namespace {

// Rows of a table in order of time, from the begin of one capture to its end, and on to the next one. Where
// that is far, the rows between are not read.
class RowsInCaptures {
  public:
    RowsInCaptures(const Database& base, std::string select) : base_(base), select_(std::move(select)) {}

    void go_to(int64_t enter_ns) {
        for (int read = 0; is_there_ && query_->number(0) < enter_ns; ++read) {
            if (read == kReadOn) query_.reset();
            if (!query_) break;
            next();
        }
        if (query_) return;
        query_.emplace(base_.prepare(select_));
        query_->bind(1, enter_ns);
        next();
    }
    bool is_before(int64_t enter_ns) const { return is_there_ && query_->number(0) < enter_ns; }
    void next() { is_there_ = query_->step(); }
    const Query& row() const { return *query_; }

  private:
    static constexpr int kReadOn = 1000;

    const Database& base_;
    const std::string select_;
    std::optional<Query> query_;
    bool is_there_ = false;
};

bool is_captured(int64_t flags) {
    return (flags & (kRowCaptured | kRowFailed | kRowUnfinished)) == kRowCaptured;
}

}  // namespace

struct Captures::Rows {
    RowsInCaptures products, launches, graphs;

    explicit Rows(const Database& base)
        : products(base,
                   "SELECT enter_ns, exit_ns, thread_id, flops FROM v_gemm WHERE enter_ns >= ?1"
                   " AND exit_ns IS NOT NULL AND flops IS NOT NULL AND failed = 0 ORDER BY enter_ns"),
          // All of them: a search for those that were captured would read on to the end of the trace.
          launches(base,
                   "SELECT enter_ns, thread_id, stream_id, shape_id, flags FROM launch"
                   " WHERE enter_ns >= ?1 ORDER BY enter_ns"),
          graphs(base,
                 "SELECT enter_ns, stream_id, graph_id, flags FROM graph_launch"
                 " WHERE enter_ns >= ?1 ORDER BY enter_ns") {}
    void go_to(int64_t enter_ns) {
        for (RowsInCaptures* rows : {&products, &launches, &graphs}) rows->go_to(enter_ns);
    }
};

Captures::Captures(const TraceFacts& facts, Graphs& graphs)
    : facts_(facts), graphs_(graphs), rows_(std::make_unique<Rows>(facts.trace->base)) {}
Captures::~Captures() = default;

void Captures::begin(int64_t stream_id, int64_t enter_ns, bool replaces) {
    if (open_.empty()) rows_->go_to(enter_ns);
    open_[stream_id] = {{}, replaces};
}

std::optional<Captures::Ended> Captures::end(int64_t stream_id) {
    const auto found = open_.find(stream_id);
    if (found == open_.end()) return {};
    std::optional<Ended> ended = std::move(found->second);
    open_.erase(found);
    if (open_.empty()) of_thread_.clear();
    return ended;
}

Captures::Ended* Captures::capture_of(int64_t stream_id) {
    const auto found = open_.find(stream_id);
    if (found != open_.end()) return &found->second;
    return open_.size() == 1 ? &open_.begin()->second : nullptr;
}

size_t Captures::kernel_of(int64_t shape_id) const {
    const Shape* shape = facts_.shapes.find(shape_id);
    return shape == nullptr || shape->kernel < 0 ? facts_.kernels.size() : static_cast<size_t>(shape->kernel);
}

void Captures::take_launch(int64_t thread_id, int64_t stream_id, int64_t shape_id, int64_t enter_ns) {
    for (RowsInCaptures& rows = rows_->products; rows.is_before(enter_ns + 1); rows.next())
        of_thread_[rows.row().number(2)] = {rows.row().number(1), rows.row().real(3), false};
    Ended* capture = capture_of(stream_id);
    if (capture == nullptr) return;
    CapturedWork& work = capture->work;
    const size_t kernel = kernel_of(shape_id);
    ++work.captured[kernel];
    const auto product = of_thread_.find(thread_id);
    if (product == of_thread_.end() || enter_ns >= product->second.exit_ns) return;
    ++work.in_products[kernel];
    if (product->second.is_placed) return;
    product->second.is_placed = true;
    ++work.products;
    work.flops += product->second.flops;
}

void Captures::read_until(int64_t enter_ns) {
    if (open_.empty()) return;
    for (RowsInCaptures& rows = rows_->launches; rows.is_before(enter_ns); rows.next()) {
        const Query& row = rows.row();
        if (is_captured(row.number(4)))
            take_launch(row.number(1), row.number(2), row.number(3), row.number(0));
    }
    for (RowsInCaptures& rows = rows_->graphs; rows.is_before(enter_ns); rows.next()) {
        const Query& row = rows.row();
        Ended* capture = capture_of(row.number(1));
        if (capture != nullptr && is_captured(row.number(3)))
            capture->work.add(graphs_.held_by(row.number(2)));
    }
}

}  // namespace gpushim::analysis
