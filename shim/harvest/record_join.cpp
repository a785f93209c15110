#include "record_join.h"

#include <algorithm>

namespace gpushim::shim {

void RecordJoin::join(Waiting& waiting, const DeviceRecord& record) {
    JoinedOperation& joined = waiting.joined;
    const bool is_first = waiting.records++ == 0;
    if (record.start_ns < joined.operation.enter_ns - kEarliestNs || record.end_ns > record.read_ns) {
        waiting.is_displaced = true;
        ++displaced_;
        return;
    }
    joined.start_ns = is_first ? record.start_ns : std::min(joined.start_ns, record.start_ns);
    joined.end_ns = is_first ? record.end_ns : std::max(joined.end_ns, record.end_ns);
    if (is_first) joined.device = static_cast<int64_t>(record.device);
    if (joined.operation.operation == Operation::graph_launch) joined.nodes.push_back(record);
}

void RecordJoin::add(const TimedOperation& operation, int64_t now_ns) {
    if (operation.enter_ns == kNull || operation.end == 0) return;
    Waiting& waiting = waiting_[operation.end];
    waiting = {};
    waiting.joined.operation = operation;
    waiting.since_ns = now_ns;
    const auto [from, until] = early_of_.equal_range(operation.end);
    for (auto early = from; early != until; ++early) {
        join(waiting, *early->second);
        early->second->correlation = 0;
    }
    early_of_.erase(from, until);
}

void RecordJoin::add(const DeviceRecord& record, int64_t now_ns) {
    if (record.correlation == 0) return;
    if (const auto found = waiting_.find(record.correlation); found != waiting_.end()) {
        join(found->second, record);
        found->second.since_ns = now_ns;
        return;
    }
    early_.push_back({record, now_ns});
    early_of_.emplace(record.correlation, &early_.back().record);
}

bool RecordJoin::is_whole(const Waiting& waiting, int64_t now_ns) const {
    const TimedOperation& operation = waiting.joined.operation;
    if (waiting.records == 0 || operation.operation != Operation::graph_launch) return waiting.records != 0;
    const auto known = nodes_of_.find(operation.alike);
    return (known != nodes_of_.end() && waiting.records >= known->second) ||
           now_ns - waiting.since_ns >= kQuietNs;
}

bool RecordJoin::lacks_nodes(const Waiting& waiting, bool lossy) {
    const TimedOperation& operation = waiting.joined.operation;
    if (operation.operation != Operation::graph_launch) return false;
    if (nodes_of_.size() >= kMostGraphs) nodes_of_.clear();
    int64_t& most = nodes_of_[operation.alike];
    most = std::max(most, waiting.records);
    return lossy && waiting.records < most;
}

std::vector<JoinedOperation> RecordJoin::take(int64_t now_ns, bool last, bool lossy) {
    std::vector<JoinedOperation> whole;
    for (auto place = waiting_.begin(); place != waiting_.end();) {
        Waiting& waiting = place->second;
        const bool is_over = last || now_ns - waiting.since_ns >= kLongestWaitNs;
        if (!is_whole(waiting, now_ns) && !is_over) {
            ++place;
            continue;
        }
        if (waiting.records != 0 && !lacks_nodes(waiting, lossy) && !waiting.is_displaced)
            whole.push_back(std::move(waiting.joined));
        place = waiting_.erase(place);
    }
    // By their begin: rows that are in order are faster to write, and the same in every run.
    std::sort(whole.begin(), whole.end(), [](const JoinedOperation& a, const JoinedOperation& b) {
        return a.operation.enter_ns < b.operation.enter_ns;
    });
    forget_early(last ? INT64_MAX : now_ns);
    return whole;
}

void RecordJoin::forget_early(int64_t now_ns) {
    while (!early_.empty()) {
        const Early& oldest = early_.front();
        const bool is_claimed = oldest.record.correlation == 0;
        if (!is_claimed && early_.size() <= kMostEarly && now_ns - oldest.since_ns < kLongestWaitNs) return;
        if (!is_claimed) give_up(oldest.record.correlation);
        early_.pop_front();
    }
}

// All of a number at once: to look for each among the others takes a large graph for ever, and the rest would
// be a shorter span.
void RecordJoin::give_up(uint32_t number) {
    const auto [from, until] = early_of_.equal_range(number);
    for (auto early = from; early != until; ++early) {
        early->second->correlation = 0;
        ++unclaimed_;
    }
    early_of_.erase(from, until);
}

int64_t RecordJoin::oldest_ns() const {
    int64_t oldest_ns = INT64_MAX;
    for (const auto& [number, waiting] : waiting_)
        oldest_ns = std::min(oldest_ns, waiting.joined.operation.enter_ns);
    return oldest_ns;
}

}  // namespace gpushim::shim
