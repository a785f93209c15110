#include "run_communicator.h"

#include <algorithm>
#include <set>

#include "exchanges.h"

namespace gpushim::analysis {

namespace {

void take_seats(RunCommunicator& comm, std::vector<CommSeat> seats) {
    comm.uid = seats.front().uid;
    for (CommSeat& seat : seats) comm.ranks = std::max(comm.ranks, seat.ranks);
    std::stable_sort(seats.begin(), seats.end(),
                     [](const CommSeat& a, const CommSeat& b) { return a.rank < b.rank; });
    comm.seat_of_rank.assign(static_cast<size_t>(comm.ranks), -1);
    comm.no_offsets.assign(static_cast<size_t>(comm.ranks), 0);
    for (CommSeat& seat : seats) {
        int& place = comm.seat_of_rank[static_cast<size_t>(seat.rank)];
        if (place >= 0) {
            comm.left_out += static_cast<int64_t>(seat.calls.size());
            continue;
        }
        place = static_cast<int>(comm.seats.size());
        if (comm.parent.empty()) comm.parent = seat.parent;
        comm.seats.push_back(std::move(seat));
    }
}

// Who is behind in the sequence of collectives goes on: so nobody is far ahead, and little waits.
void deliver(const RunCommunicator& comm, CommunicatorMatch& match, Aside& aside) {
    std::vector<size_t> next(comm.seats.size(), 0);    // by seat, of its calls
    std::set<std::pair<int64_t, size_t>> by_sequence;  // where seats are in it that have not ended
    for (size_t i = 0; i < comm.seats.size(); ++i) by_sequence.insert({INT64_MIN, i});
    while (!by_sequence.empty()) {
        auto behind = by_sequence.extract(by_sequence.begin());
        auto& [sequence, i] = behind.value();
        const CommSeat& seat = comm.seats[i];
        if (next[i] == seat.calls.size()) {
            match.end(seat.rank);
            continue;
        }
        const CommCall& one = seat.calls[next[i]++];
        aside.count_read(sizeof one);
        if (!one.is_joined) match.take(seat.rank, one.call);
        const bool is_numbered = !is_point_to_point(one.call.op) && (one.call.place || !one.call.of_messages);
        if (!one.is_joined && is_numbered) sequence = place_of(one.call);
        by_sequence.insert(std::move(behind));
    }
}

void take_instance(RunCommunicator& comm, const CollectiveInstance& instance) {
    std::vector<const CommCall*> calls;
    calls.reserve(instance.parts.size());
    for (const RankPart& part : instance.parts)
        calls.push_back(&comm.seat(part).calls[static_cast<size_t>(part.tag)]);
    comm.instances.add(instance, calls);
}

// Replays that one rank does not know are no mismatch.
bool is_worth_telling(const CollectiveMismatch& one) {
    return one.kind != CollectiveMismatch::Kind::replays || (one.value != 0 && one.other_value != 0);
}

// That an end of a message waited for less than the clocks may be off is known where that is little beside
// its own time: it did not wait.
std::optional<int64_t> shown_wait_ns(const CollectiveInstance& instance, const RankPart& part,
                                     int64_t wait_ns, int64_t error_ns) {
    constexpr int64_t kLittle = 10;  // of its time, a tenth
    if (wait_ns > error_ns) return wait_ns;
    const bool is_known = is_point_to_point(instance.op) && part.device->length_ns() >= kLittle * error_ns;
    return is_known ? std::optional<int64_t>(0) : std::nullopt;
}

void take_edges(const CollectiveInstance& instance, std::span<const int64_t> offsets, int64_t error_ns,
                InstanceTimes& times) {
    for (const WaitEdge& edge : wait_edges(instance, offsets))
        for (size_t i = 0; i < instance.parts.size(); ++i) {
            if (instance.parts[i].rank != edge.waits || !edge.wait_ns) continue;
            const auto wait_ns = shown_wait_ns(instance, instance.parts[i], *edge.wait_ns, error_ns);
            if (wait_ns) times.wait_ns[i] = std::max(times.wait_ns[i].value_or(0), *wait_ns);
        }
}

// A kernel of several messages waits for the other end of each.
bool waits_along_edges(const CollectiveInstance& instance) {
    return is_point_to_point(instance.op) || (!is_barrier_like(instance.op) && !instance.shares_kernel);
}

// The shortest is too short where a rank was done before the last one had come to its end: in a ring that
// gathers, say. That ranks end apart is known where it is more than their clocks may be off.
std::optional<CollectiveWait> barrier_wait(const RunCommunicator& comm, const CollectiveInstance& instance,
                                           const RunClocks& clocks, std::optional<int64_t> error_ns) {
    auto wait = wait_in(instance);
    if (!wait || !error_ns) return wait;
    std::vector<int64_t> place;
    const auto offsets = clock_offsets(comm, clocks, instance, place);
    auto aligned = offsets ? aligned_wait_in(instance, *offsets) : std::nullopt;
    if (aligned && aligned->transfer_ns - wait->transfer_ns > *error_ns) return aligned;
    return wait;
}

}  // namespace

RunCommunicator match_communicator(std::vector<CommSeat> seats, const RunClocks& clocks, Aside& of_traces,
                                   Aside& of_instances) {
    RunCommunicator comm;
    take_seats(comm, std::move(seats));
    join_exchanges(comm, of_traces);
    std::vector<int> present;
    comm.clock_of_rank.assign(static_cast<size_t>(comm.ranks), -1);
    for (const CommSeat& seat : comm.seats) {
        present.push_back(seat.rank);
        comm.clock_of_rank[static_cast<size_t>(seat.rank)] = clocks.clock_of(seat.facts->rank_id);
    }
    size_t most = 0;  // room that nothing is put into takes no memory
    for (const CommSeat& seat : comm.seats) most = std::max(most, seat.calls.size());
    comm.instances = InstanceList(&of_instances);
    comm.instances.reserve(most);
    CommunicatorMatch match(comm.ranks, present,
                            {[&](const CollectiveInstance& instance) { take_instance(comm, instance); },
                             [&](const CollectiveMismatch& mismatch) {
                                 if (is_worth_telling(mismatch)) comm.mismatches.push_back(mismatch);
                             }});
    deliver(comm, match, of_traces);
    comm.left_out += match.left_out();
    comm.instances.put();
    for (CommSeat& seat : comm.seats) seat.calls = {};  // instances have what counts
    return comm;
}

std::optional<std::span<const int64_t>> clock_offsets(const RunCommunicator& comm, const RunClocks& clocks,
                                                      const CollectiveInstance& instance,
                                                      std::vector<int64_t>& place) {
    const auto clock_of = [&](const RankPart& part) {
        return comm.clock_of_rank[static_cast<size_t>(part.rank)];
    };
    if (std::all_of(instance.parts.begin(), instance.parts.end(),
                    [&](const RankPart& part) { return clock_of(part) == clock_of(instance.parts.front()); }))
        return comm.no_offsets;
    place.resize(static_cast<size_t>(comm.ranks));
    for (const RankPart& part : instance.parts) {
        if (!part.device) continue;
        const auto offset = clocks.offset(clock_of(part), part.device->end_ns);
        if (!offset) return {};
        place[static_cast<size_t>(part.rank)] = offset->point_ns;
    }
    return place;
}

std::optional<int64_t> clock_error_ns(const RunCommunicator& comm, const RunClocks& clocks) {
    // Two ranks are compared: the two whose clocks are known worst.
    int64_t largest_ns = 0, second_ns = 0;
    const bool one_clock = std::all_of(comm.seats.begin(), comm.seats.end(), [&](const CommSeat& seat) {
        return comm.clock_of_rank[static_cast<size_t>(seat.rank)] ==
               comm.clock_of_rank[static_cast<size_t>(comm.seats.front().rank)];
    });
    for (const CommSeat& seat : comm.seats) {
        int64_t error_ns = seat.facts->clock_error_ns;
        if (!one_clock) {
            const auto offset = clocks.offset(comm.clock_of_rank[static_cast<size_t>(seat.rank)]);
            if (!offset) return {};
            error_ns += offset->clock_error_ns();
        }
        second_ns = std::max(second_ns, std::min(error_ns, largest_ns));
        largest_ns = std::max(largest_ns, error_ns);
    }
    return largest_ns + second_ns;
}

InstanceTimes times_of(const RunCommunicator& comm, const CollectiveInstance& instance,
                       const RunClocks& clocks, std::optional<int64_t> error_ns) {
    InstanceTimes times;
    times.wait_ns.resize(instance.parts.size());
    if (const auto wait = barrier_wait(comm, instance, clocks, error_ns)) {
        times.transfer_ns = wait->transfer_ns;
        times.by = wait->by;
        for (size_t i = 0; i < wait->ranks.size(); ++i) times.wait_ns[i] = wait->ranks[i].wait_ns;
    } else if (waits_along_edges(instance) && !instance.aborted && error_ns) {
        std::vector<int64_t> place;
        if (const auto offsets = clock_offsets(comm, clocks, instance, place))
            take_edges(instance, *offsets, *error_ns, times);
    }
    return times;
}

}  // namespace gpushim::analysis
