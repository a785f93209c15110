#include "match.h"

#include <algorithm>

namespace gpushim::analysis {

namespace {

using Entry = SequenceMatch::Entry;
using Kind = CollectiveMismatch::Kind;

std::vector<bool> seats_of(int ranks, const std::vector<int>& present) {
    std::vector<bool> open(static_cast<size_t>(ranks));
    for (const int rank : present)
        if (rank >= 0 && rank < ranks) open[static_cast<size_t>(rank)] = true;
    return open;
}

bool same_call(const Entry& a, const Entry& b) {
    return a.call.op == b.call.op && a.call.bytes == b.call.bytes && a.calls == b.calls &&
           a.call.peer == b.call.peer;
}

// The first thing in which they differ.
CollectiveMismatch mismatch_of(const Entry& a, const Entry& b) {
    CollectiveMismatch found = {Kind::replays, a.call.sequence, a.rank,         b.rank,
                                a.call.op,     b.call.op,       a.call.replays, b.call.replays};
    const auto say = [&](Kind kind, int64_t value, int64_t other) {
        found.kind = kind;
        found.value = value;
        found.other_value = other;
    };
    if (a.calls != b.calls)
        say(Kind::grouping, a.calls, b.calls);
    else if (a.call.op != b.call.op)
        say(Kind::op, 0, 0);
    else if (a.call.bytes != b.call.bytes)
        say(Kind::bytes, a.call.bytes, b.call.bytes);
    else if (!same_call(a, b))
        say(Kind::root, a.call.peer, b.call.peer);
    return found;
}

void add(std::optional<Interval>& sum, const std::optional<Interval>& span) {
    if (!span) return;
    if (!sum) sum = span;
    sum->start_ns = std::min(sum->start_ns, span->start_ns);
    sum->end_ns = std::max(sum->end_ns, span->end_ns);
}

// What one kernel did for the calls of a group.
void add(Entry& sum, const CollectiveCall& call, int ranks) {
    if (sum.call.op != call.op) sum.call.op = CollectiveOp::mixed;
    if (sum.call.peer != call.peer) sum.call.peer = -1;
    sum.call.bytes += call.bytes;
    sum.whole_bytes += whole_bytes(call.op, call.bytes, ranks);
    sum.call.aborted |= call.aborted;
    add(sum.call.device, call.device);
    sum.last_place = std::max(sum.last_place, place_of(call));
    ++sum.calls;
}

Entry entry_of(const CollectiveCall& call, int ranks, int rank) {
    return {call, place_of(call), 1, whole_bytes(call.op, call.bytes, ranks), false, rank, -1};
}

CollectiveInstance instance_of(const std::vector<const Entry*>& same, int ranks) {
    const Entry& first = *same.front();
    CollectiveInstance instance;
    instance.op = first.call.op;
    instance.sequence = first.call.sequence;
    instance.place = first.call.place;
    instance.calls = first.calls;
    instance.bytes = first.call.bytes;
    instance.whole_bytes = first.whole_bytes;
    instance.root = first.call.peer;
    instance.destination = first.destination;
    instance.ranks = ranks;
    instance.replays = first.call.replays;
    instance.parts.reserve(same.size());
    for (const Entry* entry : same) {
        instance.replays = std::min(instance.replays, entry->call.replays);
        instance.aborted |= entry->call.aborted;
        instance.shares_kernel |= entry->shares_kernel;
        instance.parts.push_back({entry->rank, entry->call.device, entry->call.tag});
    }
    return instance;
}

bool moves_nothing(const Entry& entry) {
    return entry.call.bytes == 0 && entry.call.op != CollectiveOp::barrier;
}

}  // namespace

SequenceMatch::SequenceMatch(std::vector<bool> seats_open, int ranks)
    : next_(seats_open.size(), INT64_MIN), open_(std::move(seats_open)), ranks_(ranks) {
    find_behind();
}

bool SequenceMatch::take(size_t seat, const Entry& entry, const MatchSink& sink) {
    if (place_of(entry.call) < next_[seat]) return false;
    rows_[place_of(entry.call)].push_back(entry);
    const int64_t before = std::exchange(next_[seat], entry.last_place + 1);
    if (before == reached_) go_on(sink);
    return true;
}

void SequenceMatch::end(size_t seat, const MatchSink& sink) {
    open_[seat] = false;
    if (next_[seat] == reached_) go_on(sink);
}

void SequenceMatch::find_behind() {
    reached_ = INT64_MAX;
    behind_ = 0;
    for (size_t seat = 0; seat < next_.size(); ++seat) {
        if (!open_[seat] || next_[seat] > reached_) continue;
        behind_ = next_[seat] == reached_ ? behind_ + 1 : 1;
        reached_ = next_[seat];
    }
}

// Of a thousand seats each is once the furthest behind: all of them are looked at only where none of these is
// left.
void SequenceMatch::go_on(const MatchSink& sink) {
    if (--behind_ > 0) return;
    find_behind();
    while (!rows_.empty() && rows_.begin()->first < reached_) {
        give(std::move(rows_.begin()->second), sink);
        rows_.erase(rows_.begin());
    }
}

void SequenceMatch::give(std::vector<Entry> row, const MatchSink& sink) const {
    std::stable_sort(row.begin(), row.end(), [](const Entry& a, const Entry& b) { return a.rank < b.rank; });
    // Those that did not call the same are instances of their own, and so have ranks missing.
    std::vector<std::vector<const Entry*>> kinds;
    for (const Entry& entry : row) {
        const auto found = std::find_if(kinds.begin(), kinds.end(),
                                        [&](const auto& kind) { return same_call(*kind.front(), entry); });
        if (found == kinds.end())
            kinds.push_back({&entry});
        else
            found->push_back(&entry);
    }
    for (const auto& kind : kinds) {
        if (&kind != &kinds.front()) sink.mismatch(mismatch_of(*kinds.front().front(), *kind.front()));
        const auto other = std::find_if(kind.begin(), kind.end(), [&](const Entry* entry) {
            return entry->call.replays != kind.front()->call.replays;
        });
        if (other != kind.end()) sink.mismatch(mismatch_of(*kind.front(), **other));
        if (!moves_nothing(*kind.front())) sink.instance(instance_of(kind, ranks_));
    }
}

CommunicatorMatch::CommunicatorMatch(int ranks, const std::vector<int>& present, MatchSink sink)
    : ranks_(ranks),
      sink_(std::move(sink)),
      all_(static_cast<size_t>(ranks)),
      collectives_(seats_of(ranks, present), ranks),
      exchanges_(seats_of(ranks, present), ranks) {
    for (const int rank : present)
        if (rank >= 0 && rank < ranks) all_[static_cast<size_t>(rank)].open = true;
}

void CommunicatorMatch::take(int rank, const CollectiveCall& call) {
    if (!is_open(rank)) {
        ++left_out_;
        return;
    }
    Rank& from = all_[static_cast<size_t>(rank)];
    if (!from.group.empty() && from.group.front().group != call.group) close_group(rank);
    from.group.push_back(call);
}

void CommunicatorMatch::end(int rank) {
    if (!is_open(rank)) return;
    close_group(rank);
    all_[static_cast<size_t>(rank)].open = false;
    collectives_.end(static_cast<size_t>(rank), sink_);
    exchanges_.end(static_cast<size_t>(rank), sink_);
    for (auto& [ends, match] : pairs_) {
        if (ends.first == rank) match.end(0, sink_);
        if (ends.second == rank) match.end(1, sink_);
    }
}

void CommunicatorMatch::close_group(int rank) {
    const std::vector<CollectiveCall> group = std::exchange(all_[static_cast<size_t>(rank)].group, {});
    std::optional<Entry> fused;
    bool has_pairs = false;
    for (const CollectiveCall& call : group) {
        if (is_point_to_point(call.op)) {
            has_pairs = true;
            if (call.peer == rank) continue;  // each rank's own part of an all-to-all goes nowhere
            Entry entry = entry_of(call, 2, rank);
            entry.shares_kernel = group.size() > 1;
            deliver(rank, entry);
        } else if (!fused) {
            fused = entry_of(call, ranks_, rank);
        } else {
            add(*fused, call, ranks_);
        }
    }
    if (!fused) return;
    fused->shares_kernel = has_pairs;
    deliver(rank, *fused);
}

void CommunicatorMatch::deliver(int rank, Entry entry) {
    bool in_order;
    if (is_point_to_point(entry.call.op)) {
        // Send and its Recv are one operation, from a source to a destination.
        const bool sends = entry.call.op == CollectiveOp::send;
        entry.destination = sends ? entry.call.peer : rank;
        entry.call.peer = sends ? rank : entry.call.peer;
        entry.call.op = CollectiveOp::send;
        in_order = pair(entry.call.peer, entry.destination).take(sends ? 0 : 1, entry, sink_);
    } else {
        SequenceMatch& match = entry.call.of_messages && !entry.call.place ? exchanges_ : collectives_;
        in_order = match.take(static_cast<size_t>(rank), entry, sink_);
    }
    if (!in_order) left_out_ += entry.calls;
}

SequenceMatch& CommunicatorMatch::pair(int source, int destination) {
    const auto found = pairs_.find({source, destination});
    if (found != pairs_.end()) return found->second;
    const std::vector<bool> seats = {is_open(source), is_open(destination)};
    return pairs_.emplace(std::pair(source, destination), SequenceMatch(seats, 2)).first->second;
}

bool CommunicatorMatch::is_open(int rank) const {
    return rank >= 0 && rank < ranks_ && all_[static_cast<size_t>(rank)].open;
}

size_t CommunicatorMatch::waiting() const {
    size_t sum = collectives_.waiting() + exchanges_.waiting();
    for (const auto& [ends, match] : pairs_) sum += match.waiting();
    return sum;
}

}  // namespace gpushim::analysis
