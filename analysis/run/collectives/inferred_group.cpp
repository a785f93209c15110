#include "inferred_group.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "../../step/median_shift.h"
#include "../sql/inferred_group_name.h"

namespace gpushim::analysis {

namespace {

constexpr size_t kFewest = 5;       // collectives; fewer may end together by chance
constexpr double kNearlyAll = 0.9;  // of them: another group's in between may take one's place
constexpr int64_t kTogetherNs = 50'000;
constexpr int64_t kTogetherShare = 20;  // or a twentieth of the shortest of them

bool are_all_ranks(const std::vector<const TraceFacts*>& traces) {
    const auto count = static_cast<int64_t>(traces.size());
    std::set<int64_t> ranks;
    for (const TraceFacts* facts : traces) {
        const Trace& trace = *facts->trace;
        if (trace.world_size != count || !trace.rank || *trace.rank < 0 || *trace.rank >= count) return false;
        ranks.insert(*trace.rank);
    }
    return count > 1 && ranks.size() == traces.size();
}

// Each communicator has a stream of its own: on several there are several groups, which a step may keep in
// step.
bool are_of_one_stream(const CommSeat& seat) {
    return std::all_of(seat.calls.begin(), seat.calls.end(),
                       [&](const CommCall& call) { return call.lane == seat.calls.front().lane; });
}

// By trace its calls that tell no communicator; none: some trace has none, or several groups.
std::vector<CommSeat*> untold_seats(const std::vector<const TraceFacts*>& traces, SeatsByName& seats,
                                    Aside& aside) {
    std::vector<CommSeat*> untold;
    for (const TraceFacts* facts : traces) {
        const auto found = seats.find({"", facts->rank_id});
        if (found == seats.end() || found->second.size() != 1 || !are_of_one_stream(found->second.front()))
            return {};
        untold.push_back(&found->second.front());
        aside.count_read(untold.back()->calls.size() * sizeof(CommCall));
    }
    return untold;
}

// Of each trace as many calls as the one with the fewest has: the last ones, or the first ones, for what is
// missing was before a profile began, or behind its end.
struct Row {
    std::vector<CommSeat*> seats;
    size_t length;
    bool from_end;

    size_t skipped(const CommSeat& seat) const { return from_end ? seat.calls.size() - length : 0; }
    const CommCall& call(size_t rank, size_t at) const {
        return seats[rank]->calls[skipped(*seats[rank]) + at];
    }
};

bool is_same(const CommCall& a, const CommCall& b) {
    const bool same_bytes = a.call.bytes == b.call.bytes || is_point_to_point(a.call.op) ||
                            a.call.op == CollectiveOp::all_to_all || a.call.bytes < 0 || b.call.bytes < 0;
    return a.call.op == b.call.op && same_bytes;
}

// How much later each rank ended than the first one; empty: not of all ranks, or not known.
std::vector<int64_t> ends_of(const Row& row, size_t at, int64_t& together_ns) {
    std::vector<int64_t> later;
    int64_t shortest_ns = INT64_MAX;
    for (size_t rank = 0; rank < row.seats.size(); ++rank) {
        const auto& device = row.call(rank, at).call.device;
        if (!device) return {};
        shortest_ns = std::min(shortest_ns, device->length_ns());
        later.push_back(device->end_ns - row.call(0, at).call.device->end_ns);
    }
    together_ns = std::max(kTogetherNs, shortest_ns / kTogetherShare);
    return later;
}

bool end_together(const Row& row, Aside& aside) {
    std::vector<std::vector<int64_t>> later(row.seats.size());  // by rank
    std::vector<int64_t> together;
    for (size_t at = 0; at < row.length; ++at) {
        if (!is_barrier_like(row.call(0, at).call.op)) continue;
        aside.count_read(row.seats.size() * sizeof(CommCall));
        int64_t together_ns = 0;
        const std::vector<int64_t> ends = ends_of(row, at, together_ns);
        if (ends.empty()) continue;
        for (size_t rank = 0; rank < ends.size(); ++rank) later[rank].push_back(ends[rank]);
        together.push_back(together_ns);
    }
    if (together.size() < kFewest) return false;
    return std::all_of(later.begin(), later.end(), [&](const std::vector<int64_t>& of_rank) {
        const auto usual_ns = static_cast<int64_t>(median_of(of_rank));
        size_t near = 0;
        for (size_t i = 0; i < of_rank.size(); ++i)
            near += std::abs(of_rank[i] - usual_ns) <= together[i] ? 1 : 0;
        return static_cast<double>(near) >= kNearlyAll * static_cast<double>(of_rank.size());
    });
}

bool is_one_group(const Row& row, Aside& aside) {
    for (size_t at = 0; at < row.length; ++at) {
        aside.count_read(row.seats.size() * sizeof(CommCall));
        for (size_t rank = 1; rank < row.seats.size(); ++rank)
            if (!is_same(row.call(0, at), row.call(rank, at))) return false;
    }
    return end_together(row, aside);
}

void give_places(const Row& row, const std::vector<const TraceFacts*>& traces) {
    for (size_t i = 0; i < traces.size(); ++i) {
        CommSeat& seat = *row.seats[i];
        const auto skipped = static_cast<int64_t>(row.skipped(seat));
        for (size_t at = 0; at < seat.calls.size(); ++at)
            seat.calls[at].call.sequence = static_cast<int64_t>(at) + 1 - skipped;
        seat.uid = kInferredGroup;
        seat.rank = static_cast<int>(*traces[i]->trace->rank);
        seat.ranks = static_cast<int>(traces.size());
        seat.has_place = true;
    }
}

}  // namespace

void infer_group_of_all(const std::vector<const TraceFacts*>& traces, SeatsByName& seats, Aside& aside) {
    if (!are_all_ranks(traces)) return;
    const std::vector<CommSeat*> untold = untold_seats(traces, seats, aside);
    if (untold.empty()) return;
    const auto fewest = std::min_element(
        untold.begin(), untold.end(),
        [](const CommSeat* a, const CommSeat* b) { return a->calls.size() < b->calls.size(); });
    for (const bool from_end : {true, false}) {
        const Row row = {untold, (*fewest)->calls.size(), from_end};
        if (!is_one_group(row, aside)) continue;
        give_places(row, traces);
        std::vector<CommSeat> group;
        for (const TraceFacts* facts : traces) {
            const auto found = seats.find({"", facts->rank_id});
            group.push_back(std::move(found->second.front()));
            seats.erase(found);
        }
        seats[{std::string(kInferredGroup), kNotRecorded}] = std::move(group);
        return;
    }
}

}  // namespace gpushim::analysis
