#include "skew_replay.h"

#include <algorithm>
#include <unordered_map>

#include "../../skew/replay.h"
#include "../../skew/straggler.h"
#include "../sql/run_db.h"

namespace gpushim::analysis {

namespace {

constexpr int64_t kNone = -1;

struct Ready {
    int64_t ready_ns, after_enter_ns, behind_enter_ns;  // kNone: behind none
};
using ReadyByEnter = std::unordered_map<int64_t, Ready>;

ReadyByEnter ready_of(const RunDb& run, int64_t rank_id) {
    ReadyByEnter all;
    Query row(run.raw(), "run",
              "SELECT enter_ns, ready_ns, after_enter_ns, coalesce(behind_enter_ns, -1)"
              " FROM collective_ready WHERE rank_id = ?1");
    row.bind(1, rank_id);
    while (row.step()) all[row.number(0)] = {row.number(1), row.number(2), row.number(3)};
    return all;
}

// Instances in which all meet, by sequence; what is not timed on all ranks is kept: it breaks the chain.
std::vector<size_t> meetings_of(const RunCommunicator& comm) {
    std::vector<size_t> indexes;
    for (size_t i = 0; i < comm.instances.size(); ++i) {
        if (comm.instances[i].replays != 1) break;
        if (is_barrier_like(comm.instances[i].op)) indexes.push_back(i);
    }
    return indexes;
}

class OfRank {
  public:
    OfRank(const RunCommunicator& comm, int rank, const std::vector<size_t>& meetings, const RunDb& run)
        : comm_(comm),
          rank_(static_cast<size_t>(rank)),
          ready_(ready_of(run, comm.seats[rank_].facts->rank_id)) {
        for (size_t i = 0; i < meetings.size(); ++i)
            for (const RankPart& part : comm.instances[meetings[i]].parts)
                if (part.rank == rank) take(part, static_cast<int64_t>(i));
    }
    bool has_any() const { return !ready_.empty(); }

    // Of a collective that all ranks have.
    std::optional<RankReady> arrival(const CollectiveInstance& instance, const CollectiveInstance* before,
                                     int64_t index) const {
        const RankPart& part = instance.parts[rank_];
        const CommCall& call = comm_.call(part);
        const int64_t first_enter_ns =
            call.launches == 0 ? call.enter_ns : comm_.seat(part).launches[call.launch].enter_ns;
        const auto ready = ready_.find(first_enter_ns);
        if (ready == ready_.end()) return {};
        const auto after = place_.find(ready->second.after_enter_ns);
        if (after != place_.end())
            return RankReady{after->second.first, ready->second.ready_ns - after->second.second,
                             place_of(ready->second.behind_enter_ns)};
        // After a collective of another communicator: since this one's last.
        if (before == nullptr || !is_timed(*before)) return {};
        return RankReady{index - 1, part.device->start_ns - before->parts[rank_].device->end_ns};
    }

  private:
    void take(const RankPart& part, int64_t index) {
        const CommCall& call = comm_.call(part);
        if (!part.device) return;
        for (size_t k = call.launch; k < call.launch + size_t{call.launches}; ++k)
            place_[comm_.seat(part).launches[k].enter_ns] = {index, part.device->end_ns};
    }
    int64_t place_of(int64_t enter_ns) const {
        const auto found = place_.find(enter_ns);
        return found == place_.end() ? kNone : found->second.first;
    }

    const RunCommunicator& comm_;
    size_t rank_;
    ReadyByEnter ready_;
    std::unordered_map<int64_t, std::pair<int64_t, int64_t>> place_;  // by enter: meeting, and its end
};

Meeting meeting_of(const CollectiveInstance& instance, const CollectiveInstance* before, int64_t index,
                   const std::vector<OfRank>& ranks) {
    Meeting meeting = {INT64_MAX, {}};
    if (!is_timed(instance)) return meeting;
    for (const RankPart& part : instance.parts)
        meeting.transfer_ns = std::min(meeting.transfer_ns, part.device->length_ns());
    for (const OfRank& rank : ranks) {
        const auto arrival = rank.arrival(instance, before, index);
        if (!arrival) return {meeting.transfer_ns, {}};
        meeting.arrivals.push_back(*arrival);
    }
    return meeting;
}

}  // namespace

std::vector<std::vector<int64_t>> replayed_savings(const RunCommunicator& comm, const RunDb& run) {
    const std::vector<size_t> indexes = meetings_of(comm);
    std::vector<OfRank> ranks;
    for (const CommSeat& seat : comm.seats) ranks.emplace_back(comm, seat.rank, indexes, run);
    if (!std::all_of(ranks.begin(), ranks.end(), [](const OfRank& one) { return one.has_any(); })) return {};
    std::vector<Meeting> meetings;
    for (size_t i = 0; i < indexes.size(); ++i) {
        const CollectiveInstance* before = i == 0 ? nullptr : &comm.instances[indexes[i - 1]];
        meetings.push_back(meeting_of(comm.instances[indexes[i]], before, static_cast<int64_t>(i), ranks));
    }
    const std::vector<std::vector<int64_t>> saved = saved_without_each(meetings);
    std::vector<std::vector<int64_t>> by_instance(comm.instances.size());
    for (size_t i = 0; i < indexes.size(); ++i) by_instance[indexes[i]] = saved[i];
    return by_instance;
}

}  // namespace gpushim::analysis
