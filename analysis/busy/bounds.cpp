#include "bounds.h"

#include <algorithm>
#include <utility>

namespace gpushim::analysis {

namespace {

constexpr int64_t kWaitedNs = 20'000;  // a call that only asks takes less

// An operation that began so long after its call's return waited for what was before it, also where the clock
// was not sure enough for its times to be called stamps.
constexpr int64_t kSurelyBehindNs = 1'000'000;  // an idle GPU that has to wake takes less

bool waited_in_queue(const Call& call) {
    return call.times.queued ||
           (!call.completes && call.times.start_low_ns >= call.exit_ns + kSurelyBehindNs);
}

// One operation more, or rows that are gone.
int64_t more(int64_t operations, bool gone) {
    return gone || operations == Bounds::kAnyNumber ? Bounds::kAnyNumber : operations + 1;
}

}  // namespace

Bounds::Over Bounds::over_by_host(const Call& call) {
    return {call.exit_ns, call.exit_ns - call.enter_ns >= kWaitedNs ? Say::until_the_end : Say::some_time};
}

void Bounds::take(const Call& call) {
    switch (call.kind) {
        case CallKind::operation:
            if (call.lane != kNoLane) operation(call);
            break;
        case CallKind::sync:
            sync(call);
            break;
        case CallKind::record:
            if (call.lane == kNoLane)
                records_.erase(call.target_id);
            else
                records_[call.target_id] = {call.lane, call.enter_ns, call.exit_ns};
            break;
        case CallKind::wait:
            if (const Record* record = record_of(call); record != nullptr && call.lane != kNoLane)
                queues_[static_cast<size_t>(call.lane)].entries.push_back(
                    {call.enter_ns, call.enter_ns, call.exit_ns, record->lane, record->enter_ns});
            break;
        case CallKind::gone:
            gone(call);
            break;
        default:  // says nothing of devices
            break;
    }
}

int64_t Bounds::earliest_start_ns(const Queue& queue, const Call& call) {
    return queue.timed_exit_ns <= call.enter_ns ? std::max(call.enter_ns, queue.timed_end_low_ns)
                                                : call.enter_ns;
}

void Bounds::operation(const Call& call) {
    Queue& queue = queues_[static_cast<size_t>(call.lane)];
    const int64_t device_id = lanes_[static_cast<size_t>(call.lane)].device_id;
    if (call.timed) {
        const Over by = {call.times.start_high_ns,
                         waited_in_queue(call) ? Say::until_the_end : Say::some_time};
        over(call.lane, call.enter_ns, by);
        over_by_legacy_rules(call.lane, call.enter_ns, by);
        queue.timed_exit_ns = call.exit_ns;
        queue.timed_end_low_ns = call.times.end_low_ns;
        sink_({device_id,
               {call.times.start_low_ns, call.times.end_high_ns},
               Say::timed,
               1,
               call.enter_ns,
               static_cast<size_t>(call.lane)});
        return;
    }
    const int64_t from_ns = earliest_start_ns(queue, call);
    if (call.completes) {
        over(call.lane, call.enter_ns, over_by_host(call));
        over_by_legacy_rules(call.lane, call.enter_ns, over_by_host(call));
        sink_({device_id,
               {from_ns, call.exit_ns},
               over_by_host(call).say,
               1,
               call.enter_ns,
               static_cast<size_t>(call.lane)});
        return;
    }
    queue.entries.push_back({from_ns, call.enter_ns, call.exit_ns, kNoLane, 0});
}

void Bounds::gone(const Call& call) {
    gone_until_ns_ = std::max(gone_until_ns_, call.exit_ns);
    if (call.lane == kNoLane) return;
    Queue& queue = queues_[static_cast<size_t>(call.lane)];
    queue.entries.push_back({earliest_start_ns(queue, call), call.enter_ns, call.exit_ns, kNoLane, 0, true});
}

// An event that is recorded again while somebody begins to wait for it: either may be meant.
const Bounds::Record* Bounds::record_of(const Call& call) const {
    const auto found = records_.find(call.target_id);
    if (found == records_.end() || found->second.enter_ns < gone_until_ns_) return nullptr;
    return found->second.exit_ns <= call.enter_ns ? &found->second : nullptr;
}

void Bounds::sync(const Call& call) {
    if (call.lane != kNoLane) return over(call.lane, call.enter_ns, over_by_host(call));
    if (call.target_id == kNoTarget) return;
    if (const Record* record = record_of(call)) over(record->lane, record->enter_ns, over_by_host(call));
    for (size_t i = 0; i < lanes_.size(); ++i)
        if (lanes_[i].context_handle_id == call.target_id)
            over(static_cast<int32_t>(i), call.enter_ns, over_by_host(call));
}

void Bounds::end_entries(int32_t lane, int64_t before_ns, Over by) {
    std::deque<Entry>& entries = queues_[static_cast<size_t>(lane)].entries;
    std::vector<Entry> done, kept;
    while (!entries.empty() && entries.front().enter_ns < before_ns) {
        (entries.front().exit_ns <= before_ns ? done : kept).push_back(entries.front());
        entries.pop_front();
    }
    entries.insert(entries.begin(), kept.begin(), kept.end());
    int64_t from_ns = INT64_MAX, last_enter_ns = INT64_MIN, operations = 0;
    for (const Entry& entry : done) {
        if (entry.waits_for == kNoLane) {
            from_ns = std::min(from_ns, entry.from_ns);
            operations = more(operations, entry.gone);
            if (!entry.gone) last_enter_ns = entry.enter_ns;
        } else {
            over(entry.waits_for, entry.before_ns, by);
        }
    }
    if (from_ns == INT64_MAX) return;
    sink_({lanes_[static_cast<size_t>(lane)].device_id,
           {from_ns, by.at_ns},
           by.say,
           operations,
           operations == kAnyNumber ? INT64_MAX : last_enter_ns,
           static_cast<size_t>(lane)});
    if (last_enter_ns != INT64_MIN) over_by_legacy_rules(lane, last_enter_ns, by);
}

void Bounds::end_entries_of_others(const Lane& own, int64_t before_ns, Over by) {
    for (size_t i = 0; i < lanes_.size(); ++i)
        if (lanes_[i].context_id == own.context_id &&
            (own.legacy ? lanes_[i].joins_legacy : lanes_[i].legacy))
            over(static_cast<int32_t>(i), before_ns, by);
}

bool Bounds::is_open(int32_t lane) const {
    const auto& entries = queues_[static_cast<size_t>(lane)].entries;
    return std::any_of(entries.begin(), entries.end(),
                       [](const Entry& entry) { return entry.waits_for == kNoLane; });
}

Bounds::Open Bounds::open(int64_t device_id, int64_t until_ns, int64_t early_ns) const {
    Open open;
    for (size_t i = 0; i < lanes_.size(); ++i) {
        if (lanes_[i].device_id != device_id) continue;
        bool is_first_early = true, is_first_late = true;  // these begin the earliest
        for (const Entry& entry : queues_[i].entries) {
            if (entry.waits_for != kNoLane) continue;
            const bool is_early = entry.enter_ns < early_ns;
            bool& is_first = is_early ? is_first_early : is_first_late;
            if (std::exchange(is_first, false))
                (is_early ? open.early : open.late).push_back({entry.from_ns, until_ns});
            if (is_early) open.early_operations = more(open.early_operations, entry.gone);
        }
    }
    open.early = unite(std::move(open.early));
    open.late = unite(std::move(open.late));
    return open;
}

Intervals Bounds::open(int64_t device_id, int64_t until_ns) const {
    return open(device_id, until_ns, INT64_MAX).early;
}

}  // namespace gpushim::analysis
