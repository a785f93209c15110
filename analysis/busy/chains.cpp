#include "chains.h"

#include <algorithm>

namespace gpushim::analysis {

namespace {

// What a stream was given since its last operation with device times.
struct Chain {
    const Call* before = nullptr;  // none: what came since may have waited for something else
    Call* first = nullptr;
    const Call* last = nullptr;
    int32_t operations = 0;
    bool is_of_one_type = true;

    void begin_behind(const Call* timed) { *this = {timed}; }
    void add(Call& call) {
        if (first == nullptr) first = &call;
        is_of_one_type &= call.type == first->type;
        last = &call;
        ++operations;
    }
    const Call* newest() const { return last != nullptr ? last : before; }
};

// Where one call did not return before the next was entered, nobody knows which came first.
bool follows(const Chain& chain, const Call& call) {
    return chain.before != nullptr && call.enter_ns >= chain.newest()->exit_ns;
}

// The chain begins when the operation before it, and our event behind that, are over, and ends before our
// event in front of the next; both are known as well as the stamps are.
void put_times(Chain& chain, const Call& next, const OwnCost& cost) {
    const DeviceTimes &from = chain.before->times, &to = next.times;
    const int64_t start_ns = from.end_ns + (from.events > 0 ? cost.event_ns : 0);
    const int64_t end_ns = to.start_ns - (to.events > 1 ? cost.event_ns : 0);
    const int64_t latency_ns = cost.latency_ns + cost.latency_spread_ns / 2;
    const bool was_there = chain.last->exit_ns + latency_ns <= start_ns;
    const bool next_was_there = to.queued && to.events != 1 && next.exit_ns + latency_ns <= end_ns;
    if (!was_there || !next_was_there || !chain.is_of_one_type || end_ns <= start_ns) return;
    chain.first->timed = true;
    chain.first->chain = chain.operations;
    // By hard bounds nothing of it is certain.
    chain.first->times = {
        start_ns, from.end_low_ns, end_ns, end_ns, end_ns, to.start_high_ns, from.likely_ns + to.likely_ns, 0,
        true};
}

void operation(Chain& chain, Call& call, const OwnCost& cost) {
    if (!follows(chain, call)) return chain.begin_behind(call.timed ? &call : nullptr);
    if (!call.timed) return chain.add(call);
    if (chain.operations > 0) put_times(chain, call, cost);
    chain.begin_behind(&call);
}

}  // namespace

void time_chains(std::vector<Call>& calls, std::span<const Lane> lanes,
                 const std::map<int64_t, OwnCost>& cost) {
    std::vector<Chain> chains(lanes.size());
    std::vector<OwnCost> costs;
    for (const Lane& lane : lanes) {
        const auto found = cost.find(lane.device_id);
        costs.push_back(found != cost.end() ? found->second : OwnCost());
    }
    for (Call& call : calls) {
        if (call.kind == CallKind::gone && call.lane == kNoLane)
            std::fill(chains.begin(), chains.end(), Chain());
        if (call.lane == kNoLane) continue;
        const auto lane = static_cast<size_t>(call.lane);
        if (call.kind == CallKind::operation)
            operation(chains[lane], call, costs[lane]);
        else if (call.kind == CallKind::wait || call.kind == CallKind::host_call ||
                 call.kind == CallKind::gone)
            chains[lane] = {};
    }
}

}  // namespace gpushim::analysis
