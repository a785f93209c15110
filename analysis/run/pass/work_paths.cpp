#include "work_paths.h"

#include <algorithm>

namespace gpushim::analysis {

namespace {

constexpr size_t kMostRecorded = 16'384;
// A call that takes longer than that waited for something, and a gap that is no longer is recorded nowhere.
constexpr int64_t kLongNs = 100'000;
constexpr int64_t kNearNs = 1'000;  // ways that differ by less are as long
constexpr size_t kReach = 256;      // launches and ends that a way may lead past

uint64_t mixed(uint64_t hash, uint64_t value) {
    return (hash ^ value) * 0x9E3779B97F4A7C15ULL + (hash >> 29);
}

bool is_long_copy(const Call& call) {
    return (call.type == OperationClass::h2d || call.type == OperationClass::d2h) &&
           call.exit_ns - call.enter_ns >= kLongNs && call.exit_ns >= call.times.start_ns;
}

}  // namespace

void WorkPaths::Front::add(int64_t own_ns, int64_t firm_ns) {
    for (size_t i = 0; i < size_; ++i) {
        ways_[i].own_ns += own_ns;
        ways_[i].firm_ns += firm_ns;
    }
}

// A launch comes after all launches before it, and an end after all ends: the longer way from the later one
// implies the other.
void WorkPaths::Front::put(const Way& way) {
    const auto implies = [](const Way& one, const Way& other) {
        return (one.from - other.from) % 2 == 0 && one.from >= other.from && one.own_ns >= other.own_ns &&
               one.firm_ns >= other.firm_ns;
    };
    if (std::any_of(begin(), end(), [&](const Way& one) { return implies(one, way); })) return;
    Way put = way;
    for (size_t i = 0; i < size_; ++i)
        if (ways_[i].from == way.from)
            put = {way.from, std::max(way.own_ns, ways_[i].own_ns), std::max(way.firm_ns, ways_[i].firm_ns)};
    const auto last = std::remove_if(ways_.begin(), ways_.begin() + static_cast<std::ptrdiff_t>(size_),
                                     [&](const Way& one) { return implies(put, one); });
    size_ = static_cast<size_t>(last - ways_.begin());
    if (size_ < ways_.size()) {
        ways_[size_++] = put;
        return;
    }
    Way& oldest = *std::min_element(ways_.begin(), ways_.end(),
                                    [](const Way& a, const Way& b) { return a.from < b.from; });
    if (oldest.from < put.from) oldest = put;
}

void WorkPaths::Front::at_least(const Front& other) {
    for (const Way& way : other) put(way);
}

void WorkPaths::Front::lead_from(int32_t launch, int64_t later_ns) {
    for (size_t i = 0; i < size_; ++i)
        if (ways_[i].from == kOrigin)
            ways_[i] = {launch, ways_[i].own_ns - later_ns, ways_[i].firm_ns - later_ns};
}

void WorkPaths::Moment::at_least(const Moment& other) {
    at_ns = std::max(at_ns, other.at_ns);
    front.at_least(other.front);
}

WorkPaths::WorkPaths(const TraceFacts& facts)
    : facts_(facts), streams_(facts.lanes.size()), reaches_(2 * kReach) {}

void WorkPaths::begin() {
    streams_.assign(facts_.lanes.size(), {});
    events_.clear();
    hosts_.clear();
    gaps_.clear();
    for (Reach& reach : reaches_) reach.to = -1;
    ++piece_;
    has_begun_ = false;
    origin_ns_ = kNever;
    kind_ = 0;
}

// What of the host's time before this call it may have waited, without a call that says so.
int64_t WorkPaths::doubt_ns(const Call& call, int64_t own_ns) const {
    if (own_ns < kLongNs) return 0;
    const auto gap = gaps_.find(call.thread_id);
    const bool is_recorded = gap != gaps_.end() && gap->second.from_ns >= call.enter_ns - own_ns - kLongNs;
    return is_recorded ? std::clamp<int64_t>(gap->second.blocked_ns, 0, own_ns) : own_ns;
}

// The thread, as it enters that call.
WorkPaths::Moment& WorkPaths::host_at(const Call& call, bool is_input, bool take_turns) {
    if (origin_ns_ == kNever) origin_ns_ = call.enter_ns;
    Moment& host = hosts_[take_turns ? 0 : call.thread_id];
    if (host.at_ns == kNever) {
        host.front.set(kOrigin);
        host.at_ns = origin_ns_;
    }
    const int64_t own_ns = call.enter_ns - host.at_ns;
    const bool is_handed_over = take_turns && call.thread_id != last_thread_;
    const int64_t doubt = is_input || is_handed_over ? 0 : doubt_ns(call, own_ns);
    host.front.add(own_ns, own_ns - doubt);
    host.at_ns = call.enter_ns;
    last_thread_ = call.thread_id;
    return host;
}

// The thread, as it leaves that call, which may lie in another one.
void WorkPaths::leave(Moment& host, const Call& call, int64_t outer_ns) {
    const int64_t took_ns = call.exit_ns - host.at_ns;
    // A thread that waits for long in a launch waits for room in the queue: the GPU is behind, not the host.
    const bool is_queued = call.kind == CallKind::operation || call.kind == CallKind::record ||
                           call.kind == CallKind::wait || call.kind == CallKind::host_call;
    const int64_t firm_ns = std::min(took_ns, kLongNs);
    host.front.add(is_queued ? firm_ns : took_ns, firm_ns);
    host.at_ns = call.exit_ns;
    if (outer_ns <= host.at_ns) return;
    host.front.add(outer_ns - host.at_ns, outer_ns - host.at_ns);
    host.at_ns = outer_ns;
}

void WorkPaths::take(const Call& call, bool before, bool is_input, bool take_turns) {
    if (call.kind == CallKind::host_gap) {
        const int64_t length_ns = call.exit_ns - call.enter_ns;
        gaps_[call.thread_id] = {call.enter_ns,
                                 call.detail == kNotRecorded ? length_ns : length_ns - call.detail};
        return;
    }
    // The kernels of a call of NCCL are calls of their own.
    if (!is_call(call.kind) || call.kind == CallKind::collective || !TraceFacts::has_call(call)) return;
    const auto known = hosts_.find(take_turns ? 0 : call.thread_id);
    const int64_t outer_ns = known == hosts_.end() ? kNever : known->second.at_ns;
    Moment& host = host_at(call, is_input, take_turns);
    if (call.kind == CallKind::operation) {
        kind_ = mixed(kind_, 16 + static_cast<uint64_t>(call.type));
        operation(call, before, host);
    } else if (call.kind == CallKind::sync) {
        sync(call, host);
    } else if (call.lane != kNoLane && call.kind == CallKind::record) {
        if (events_.size() > kMostRecorded)
            std::erase_if(events_, [&](const auto& one) { return one.second.at_ns <= call.enter_ns; });
        Moment& event = events_[call.target_id] = streams_[static_cast<size_t>(call.lane)].tail;
        event.at_least(streams_[static_cast<size_t>(call.lane)].waits);
    } else if (call.lane != kNoLane && call.kind == CallKind::wait) {
        if (const auto event = events_.find(call.target_id); event != events_.end())
            streams_[static_cast<size_t>(call.lane)].waits.at_least(event->second);
    }
    leave(host, call, outer_ns);
}

// The legacy stream waits for those that join it, and they for it.
WorkPaths::Moment WorkPaths::legacy_tail(int32_t lane) const {
    Moment end;
    const Lane& own = facts_.lanes[static_cast<size_t>(lane)];
    if (!own.legacy && !own.joins_legacy) return end;
    for (size_t i = 0; i < facts_.lanes.size(); ++i) {
        const Lane& other = facts_.lanes[i];
        if (other.context_id == own.context_id && (own.legacy ? other.joins_legacy : other.legacy))
            end.at_least(streams_[i].tail);
    }
    return end;
}

void WorkPaths::operation(const Call& call, bool before, Moment& host) {
    if (call.lane == kNoLane || !call.timed) return;
    if (call.type == OperationClass::comm && call.group_id != kNotRecorded) {
        if (!nodes_.empty() && nodes_.back().group_id == call.group_id && nodes_.back().piece == piece_)
            nodes_.back().end_ns = std::max(nodes_.back().end_ns, call.times.end_ns);
        else
            begin_collective(call, before, host);
    }
    const int32_t gpu = facts_.gpu_of_lane[static_cast<size_t>(call.lane)];
    const int64_t latency_ns = gpu < 0 ? 0 : facts_.gpus[static_cast<size_t>(gpu)].idle.latency_ns;
    const int64_t start_ns = call.times.start_ns, end_ns = call.times.end_ns;
    Moment ready = host;
    ready.at_ns = std::max(call.enter_ns, std::min(start_ns, call.enter_ns + latency_ns));
    ready.front.add(ready.at_ns - call.enter_ns, ready.at_ns - call.enter_ns);
    Stream& stream = streams_[static_cast<size_t>(call.lane)];
    ready.at_least(stream.waits);
    ready.at_least(stream.tail);
    ready.at_least(legacy_tail(call.lane));
    // What nothing explains is the operation's own, whatever it comes after.
    const int64_t more_ns = std::max<int64_t>(0, start_ns - ready.at_ns);
    ready.front.add(more_ns, more_ns);
    // Of memory that is not pinned: the thread is in the call from the copy's start on.
    const bool is_waited_for = call.completes || is_long_copy(call);
    Moment back;
    if (is_waited_for) back = ready;
    if (call.type == OperationClass::comm && call.group_id != kNotRecorded) {
        if (!before && nodes_.back().arrival.empty()) {
            nodes_.back().arrival = paths_of(ready.front);
            transfer_ns_ = call.wait_ns == kNotRecorded ? 0 : end_ns - start_ns - call.wait_ns;
            remember(false, nodes_.back().arrival);
        }
        ready.front.set(2 * (static_cast<int32_t>(nodes_.size()) - 1) + 1);
    } else {
        ready.front.add(end_ns - start_ns, end_ns - start_ns);
    }
    ready.at_ns = end_ns;
    stream.tail = ready;
    stream.waits = {};
    if (!is_waited_for) return;
    back.front.add(call.exit_ns - start_ns, call.exit_ns - start_ns);
    host.front.at_least(back.front);
    host.at_ns = call.exit_ns;
}

// The thread is where it launches a collective; from there on ways lead from that.
void WorkPaths::begin_collective(const Call& call, bool before, Moment& host) {
    leave_out_implied();
    const auto number = static_cast<int32_t>(nodes_.size());
    nodes_.push_back({call.group_id, piece_, call.enter_ns, call.times.end_ns, kind_, {}, {}});
    kind_ = 0;
    if (before) return;
    const bool is_first = !has_begun_;
    has_begun_ = true;
    if (is_first) begin_at(2 * number);
    if (!is_first) nodes_.back().launch = paths_of(host.front);
    remember(true, nodes_.back().launch);
    // A thread that has waited for nothing since is as far behind the launch before as ever.
    if (is_first || !host.front.is_of_one_launch()) host.front.set(2 * number);
}

WorkPaths::Moment WorkPaths::awaited(const Call& call) const {
    Moment end;
    if (call.lane != kNoLane) return streams_[static_cast<size_t>(call.lane)].tail;
    for (size_t i = 0; i < facts_.lanes.size(); ++i)
        if (facts_.lanes[i].context_handle_id == call.target_id && call.target_id != kNoTarget)
            end.at_least(streams_[i].tail);
    if (const auto event = events_.find(call.target_id); event != events_.end()) end.at_least(event->second);
    return end;
}

void WorkPaths::sync(const Call& call, Moment& host) {
    Moment end = awaited(call);
    if (end.at_ns == kNever) return;
    kind_ = mixed(kind_, 1);
    if (end.at_ns > call.exit_ns) return;  // a question that was answered: not yet
    if (end.at_ns > call.enter_ns) {
        end.front.add(call.exit_ns - end.at_ns, call.exit_ns - end.at_ns);
    } else {
        const int64_t took_ns = call.exit_ns - call.enter_ns;
        host.front.add(took_ns, took_ns);
    }
    host.front.at_least(end.front);
    host.at_ns = call.exit_ns;
}

// `paths` lead to the last collective.
void WorkPaths::remember(bool is_launch, const std::vector<WorkPath>& paths) {
    const int32_t to = 2 * (static_cast<int32_t>(nodes_.size()) - 1) + (is_launch ? 0 : 1);
    const int64_t more_ns = is_launch ? 0 : transfer_ns_;
    Reach& reach = reaches_[static_cast<size_t>(to) % reaches_.size()];
    reach.to = to;
    reach.own_ns.fill(kNever);
    reach.firm_ns.fill(kNever);
    const auto put = [&](int32_t from, int64_t own_ns, int64_t firm_ns) {
        const auto back = static_cast<size_t>(to - from);
        if (back >= kReach) return;
        reach.own_ns[back] = std::max(reach.own_ns[back], own_ns + more_ns);
        reach.firm_ns[back] = std::max(reach.firm_ns[back], firm_ns + more_ns);
    };
    for (const WorkPath& path : paths) {
        const int32_t by = 2 * path.from + (path.is_launch ? 0 : 1);
        put(by, path.own_ns, path.firm_ns);
        const Reach& before = reaches_[static_cast<size_t>(by) % reaches_.size()];
        if (before.to != by) continue;
        for (size_t back = 0; back < kReach; ++back)
            if (before.own_ns[back] != kNever)
                put(by - static_cast<int32_t>(back), before.own_ns[back] + path.own_ns,
                    before.firm_ns[back] + path.firm_ns);
    }
}

bool WorkPaths::is_implied(const Way& way, const Front& front) const {
    return std::any_of(front.begin(), front.end(), [&](const Way& last) {
        if (last.from <= way.from || way.from < 0) return false;
        const Reach& reach = reaches_[static_cast<size_t>(last.from) % reaches_.size()];
        const auto back = static_cast<size_t>(last.from - way.from);
        return reach.to == last.from && back < kReach && reach.own_ns[back] != kNever &&
               reach.own_ns[back] + last.own_ns >= way.own_ns - kNearNs &&
               reach.firm_ns[back] + last.firm_ns >= way.firm_ns - kNearNs;
    });
}

// So that there is room for others.
void WorkPaths::leave_out_implied() {
    const auto is = [&](const Way& way, const Front& front) { return is_implied(way, front); };
    for (Stream& stream : streams_) {
        stream.tail.front.remove(is);
        stream.waits.front.remove(is);
    }
    for (auto& [thread, host] : hosts_) host.front.remove(is);
}

// A way from the begin of the piece is one from its first launch.
void WorkPaths::begin_at(int32_t launch) {
    const int64_t later_ns = nodes_.back().launch_ns - origin_ns_;
    const auto each = [&](Moment& moment) { moment.front.lead_from(launch, later_ns); };
    for (Stream& stream : streams_) each(stream.tail), each(stream.waits);
    for (auto& [event, moment] : events_) each(moment);
    for (auto& [thread, moment] : hosts_) each(moment);
}

std::vector<WorkPath> WorkPaths::paths_of(Front front) const {
    front.remove([&](const Way& way, const Front& all) { return is_implied(way, all); });
    std::vector<WorkPath> paths;
    for (const Way& way : front)
        if (way.from != kOrigin) paths.push_back({way.from / 2, way.from % 2 == 0, way.own_ns, way.firm_ns});
    return paths;
}

}  // namespace gpushim::analysis
