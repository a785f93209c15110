#include "skew_replay.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <unordered_map>

#include "../../skew/straggler.h"
#include "../sql/run_db.h"

namespace gpushim::analysis {

namespace {

std::vector<WorkPath> paths_of(const std::string& bytes) {
    std::vector<WorkPath> paths(bytes.size() / sizeof(WorkPath));
    if (!paths.empty()) std::memcpy(paths.data(), bytes.data(), paths.size() * sizeof(WorkPath));
    return paths;
}

// Instances in which all meet, by sequence; what is not timed on all ranks is kept: it breaks the chain.
std::vector<size_t> meetings_of(const RunCommunicator& comm) {
    std::vector<size_t> indexes;
    const std::span<const CollectiveInstance> heads = comm.instances.heads();
    for (size_t i = 0; i < heads.size() && heads[i].replays == 1; ++i)
        if (is_barrier_like(heads[i].op)) indexes.push_back(i);
    return indexes;
}

struct Attendance {  // of a rank in a meeting
    bool is_there = false;
    int64_t group = 0;  // of its call
    std::optional<Interval> device;
};

// One rank's rows of collective_path, each put where it belongs among the meetings.
class HistoryOf {
  public:
    explicit HistoryOf(std::vector<Attendance> own) : own_(std::move(own)) {
        history_.meetings.resize(own_.size());
        for (size_t i = 0; i < own_.size(); ++i)
            if (own_[i].is_there) meeting_of_[own_[i].group] = static_cast<int32_t>(i);
    }

    // At most so many rows.
    RankHistory read(const RunDb& run, int64_t rank_id, size_t most) {
        Query row(run.raw(), "run",
                  "SELECT group_id, piece, launch_ns, end_ns, kind, launch_paths, paths FROM collective_path"
                  " WHERE rank_id = ?1 ORDER BY rowid");
        row.bind(1, rank_id);
        while (place_.size() < most && row.step()) {
            const auto place = meeting_of_.find(row.number(0));
            place_.push_back(place == meeting_of_.end() ? -1 : place->second);
            if (place != meeting_of_.end()) take(row, static_cast<size_t>(place->second));
        }
        if (place_.size() >= most) meetings_ = *std::max_element(place_.begin(), place_.end()) + 1;
        history_.paths.shrink_to_fit();
        return std::move(history_);
    }
    // The first so many, where the limit left out those behind.
    std::optional<int64_t> meetings() const { return meetings_; }
    // More than a few came after a collective of another communicator, about which nothing is known here.
    bool has_others() const { return 100 * others_ > meeting_of_.size(); }

  private:
    void take(const Query& row, size_t index) {
        RankMeeting& meeting = history_.meetings[index];
        const std::vector<WorkPath> paths = paths_of(std::get<Blob>(row.value(6)).bytes);
        if (paths.empty() && meeting.is_known) return;  // again in the next piece, into which it lasted
        const auto launches = static_cast<size_t>(row.number(5));
        meeting = {true,
                   static_cast<int32_t>(row.number(1)),
                   row.number(2),
                   row.number(3),
                   static_cast<uint64_t>(row.number(4)),
                   static_cast<uint32_t>(history_.paths.size()),
                   0,
                   0};
        bool is_after_other = false;
        for (size_t i = 0; i < paths.size(); ++i) {
            const int32_t from = place_[static_cast<size_t>(paths[i].from)];
            is_after_other |= from < 0;
            if (from < 0) continue;
            history_.paths.push_back({from, paths[i].is_launch, paths[i].own_ns, paths[i].firm_ns});
            ++(i < launches ? meeting.launches : meeting.arrivals);
        }
        others_ += is_after_other ? 1 : 0;
        if (!is_after_other || index == 0 || !own_[index].device || !own_[index - 1].device) return;
        const int64_t own_ns = own_[index].device->start_ns - own_[index - 1].device->end_ns;
        history_.paths.push_back({static_cast<int32_t>(index) - 1, false, own_ns, own_ns});
        ++meeting.arrivals;
    }

    std::unordered_map<int64_t, int32_t> meeting_of_;  // by group of calls
    std::vector<int32_t> place_;                       // by number of the rank's collective: its meeting; -1
    std::vector<Attendance> own_;                      // by meeting
    size_t others_ = 0;
    std::optional<int64_t> meetings_;
    RankHistory history_;
};

}  // namespace

SkewReplay::SkewReplay(const RunCommunicator& comm, const RunDb& run, const ReplayLimits& limits)
    : instances_(comm.instances.size()), instance_of_(meetings_of(comm)) {
    ReplayedPart replayed = {0, static_cast<int64_t>(instance_of_.size())};
    instance_of_.resize(
        std::min(instance_of_.size(), limits.of_all_ranks / std::max<size_t>(1, comm.seats.size())));
    replayed.first = static_cast<int64_t>(instance_of_.size());
    std::vector<std::vector<Attendance>> attended(comm.seats.size(),
                                                  std::vector<Attendance>(instance_of_.size()));
    for (size_t i = 0; i < instance_of_.size(); ++i) {
        const CollectiveInstance instance = comm.instances[instance_of_[i]];
        for (const RankPart& part : instance.parts)
            attended[comm.seat_index(part)][i] = {true, comm.call(part).call.group, part.device};
        Meeting meeting = {INT64_MAX, comm.call(instance.parts.front()).step};
        const bool timed = is_timed(instance);
        for (const RankPart& part : instance.parts)
            if (timed) meeting.transfer_ns = std::min(meeting.transfer_ns, part.device->length_ns());
        all_.meetings.push_back(meeting);
    }
    for (size_t seat = 0; seat < comm.seats.size(); ++seat) {
        HistoryOf history(std::move(attended[seat]));
        all_.ranks.push_back(history.read(run, comm.seats[seat].facts->rank_id, limits.of_a_rank));
        replayed.first = std::min(replayed.first, history.meetings().value_or(replayed.first));
        has_others_ |= history.has_others();
        std::vector<RankMeeting>& meetings = all_.ranks.back().meetings;
        is_known_ &= !all_.ranks.back().paths.empty();
        for (size_t i = 0; i < meetings.size(); ++i)
            meetings[i].is_known &= all_.meetings[i].transfer_ns != INT64_MAX;
    }
    if (replayed.first < replayed.of) part_ = replayed;
}

Savings SkewReplay::by_instance(const Savings& by_meeting) const {
    Savings all(instances_);
    for (size_t i = 0; i < by_meeting.size(); ++i) all[instance_of_[i]] = by_meeting[i];
    return all;
}

std::vector<std::vector<int64_t>> SkewReplay::at_most_saved() const {
    std::vector<std::vector<int64_t>> all(instances_);
    for (size_t rank = 0; rank < all_.ranks.size(); ++rank) {
        const Savings saved = by_instance(at_most_saved_without(all_, rank));
        for (size_t i = 0; i < instances_; ++i)
            if (saved[i]) all[i].push_back(*saved[i]);
    }
    return all;
}

Savings SkewReplay::saved_if_like_others(int rank) const {
    if (!is_known_ || has_others_) return Savings(instances_);
    return by_instance(analysis::saved_if_like_others(all_, static_cast<size_t>(rank)));
}

}  // namespace gpushim::analysis
