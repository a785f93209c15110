#include "graphs.h"

#include <string>
#include <utility>

#include "../schema/flags.h"

namespace gpushim::shim {
namespace {

constexpr size_t kStatesRemembered = 16;

// Which state was current when the trace ends: the one of the newest launch, unless something has changed
// since. Before the first launch, the one that it was made with. Where rows are gone since then, nobody
// knows.
std::string current_rows() {
    return "WITH launched AS (SELECT g.handle_id, l.graph_id, max(l.enter_ns) AS at_ns FROM graph_launch l"
           "   JOIN graph g ON g.id = l.graph_id GROUP BY g.handle_id),"
           " changed AS (SELECT k.target_id AS handle_id, max(k.enter_ns) AS at_ns FROM call k"
           "   JOIN api a ON a.id = k.api_id WHERE a.kind = 'graph' AND " +
           kSucceeded.sql("k") +
           " GROUP BY k.target_id)"
           " SELECT g.handle_id, coalesce(l.graph_id, max(g.id)) FROM graph g"
           " LEFT JOIN handle h ON h.id = g.handle_id"
           " LEFT JOIN launched l ON l.handle_id = g.handle_id LEFT JOIN changed c ON c.handle_id = "
           "g.handle_id"
           " WHERE (c.at_ns IS NULL OR c.at_ns < l.at_ns) AND NOT EXISTS (SELECT 1 FROM summarised s"
           "   WHERE s.until_ns > coalesce(l.at_ns, h.born_ns, 0)) GROUP BY g.handle_id";
}

}  // namespace

void Graphs::instantiated(Life& exec) {
    states_[exec.id] = {};
    states_[exec.id].seen_made = true;
    exec.row_id = kNull;
}

void Graphs::changed(Life& exec, GraphChange change, uint64_t node, int64_t value) {
    if (change == GraphChange::nothing) return;
    exec.row_id = kNull;
    GraphNodes& nodes = states_[exec.id].nodes;
    if (change == GraphChange::contents)
        nodes.awaits(0);
    else if (change == GraphChange::child)
        nodes.awaits(node);
    else if (change == GraphChange::enabled)
        nodes.enable(node, value != 0);
    else
        nodes.set_value(node, value);
}

void Graphs::died(const Life& exec) { states_.erase(exec.id); }

void Graphs::telling_begins(int64_t thread) { tellings_[thread] = {}; }

void Graphs::tells(int64_t thread, GraphNode kind, uint64_t node, int64_t value) {
    const auto found = tellings_.find(thread);
    if (found == tellings_.end() || kind > GraphNode::end)
        return;  // its beginning was lost, or it is damaged
    Telling& telling = found->second;
    ++telling.count;
    if (kind == GraphNode::end) {
        if (!telling.inside.empty()) telling.inside.pop_back();
        return;
    }
    telling.items.push_back({node, telling.inside.empty() ? 0 : telling.inside.back(), value, kind});
    if (kind == GraphNode::child) telling.inside.push_back(node);
}

void Graphs::telling_ends(int64_t thread, Life& exec, uint64_t below, uint64_t count) {
    const auto found = tellings_.find(thread);
    if (found == tellings_.end()) return;
    Telling telling = std::move(found->second);
    tellings_.erase(found);
    State& state = states_[exec.id];
    if (telling.count != count || !state.seen_made) return;
    state.nodes.told(std::move(telling.items), below);
    exec.row_id = kNull;
    row(exec);
}

void Graphs::stays_as_it_was(Life& exec, uint64_t below) {
    if (!states_[exec.id].nodes.stays_as_it_was(below)) return;
    ++assumed_;
    exec.row_id = kNull;
}

// Of no graph.
int64_t Graphs::other_row() {
    ++left_out_;
    if (other_id_ != kNull) return other_id_;
    tables_.graph.add({.id = ++last_id_, .handle_id = 0});
    return other_id_ = last_id_;
}

int64_t Graphs::add_row(const Life& exec, const std::optional<GraphTotals>& totals) {
    const auto count = [&totals](GraphNode kind) {
        return totals ? totals->of[static_cast<size_t>(kind)] : kNull;
    };
    if (rows_ >= most_rows_ || kernels_ + (totals ? totals->kernels.size() : 0) > most_kernels_)
        return other_row();
    ++rows_;
    if (totals) kernels_ += totals->kernels.size();
    tables_.graph.add({.id = ++last_id_,
                       .handle_id = exec.id,
                       .kernels = count(GraphNode::kernel),
                       .copies = count(GraphNode::copy),
                       .memsets = count(GraphNode::memset),
                       .other = count(GraphNode::other),
                       .bytes = totals ? totals->bytes : kNull});
    if (totals)
        for (const auto& [function, times] : totals->kernels)
            tables_.graph_kernel.add({.graph_id = last_id_, .handle_id = function, .count = times});
    return last_id_;
}

int64_t Graphs::row(Life& exec) {
    if (exec.row_id != kNull) return exec.row_id;
    State& state = states_[exec.id];
    const std::optional<GraphTotals> totals = state.nodes.totals();
    for (const auto& [known, id] : state.rows)
        if (known == totals) return exec.row_id = id;
    exec.row_id = add_row(exec, totals);
    if (state.rows.size() == kStatesRemembered) state.rows.erase(state.rows.begin());
    state.rows.emplace_back(totals, exec.row_id);
    return exec.row_id;
}

void Graphs::load(Database& base, Handles& handles) {
    Statement last = base.prepare(
        "SELECT coalesce(max(id), 0), count(*), min(id) FILTER (WHERE handle_id = 0),"
        " (SELECT count(*) FROM graph_kernel) FROM graph");
    last.step();
    last_id_ = last.number(0);
    rows_ = static_cast<size_t>(last.number(1));
    other_id_ = last.number(2);
    kernels_ = static_cast<size_t>(last.number(3));
    auto lives = handles.by_id();
    Statement rows = base.prepare(current_rows());
    while (rows.step())
        if (const auto life = lives.find(rows.number(0)); life != lives.end())
            life->second->row_id = rows.number(1);
}

}  // namespace gpushim::shim
