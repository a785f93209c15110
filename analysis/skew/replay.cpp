#include "replay.h"

#include <algorithm>

namespace gpushim::analysis {

namespace {

constexpr size_t kReach = 4096;  // so far back a rank's work may have come after

// Ends of the last meetings, with all ranks and without each of them, from the begin of the chain on.
class Replay {
  public:
    explicit Replay(size_t ranks) : ranks_(ranks), ends_(kReach * (ranks + 1)), gaps_(ranks) {}

    // Nothing: the chain begins here.
    std::vector<int64_t> next(size_t index, const Meeting& meeting) {
        if (!is_known(index, meeting)) {
            from_ = index;
            is_begun_ = meeting.arrivals.size() == ranks_;
            std::fill_n(row(index), ranks_ + 1, 0);
            std::fill(gaps_.begin(), gaps_.end(), 0);
            return {};
        }
        if (is_uniform(meeting))
            all_at_once(index, meeting);
        else
            for (size_t without = 0; without <= ranks_; ++without)
                row(index)[without] = end_ns(meeting, without) + meeting.transfer_ns;
        std::vector<int64_t> saved(ranks_);
        for (size_t rank = 0; rank < ranks_; ++rank) {
            const int64_t gap_ns = row(index)[ranks_] - row(index)[rank];
            saved[rank] = gap_ns - gaps_[rank];
            gaps_[rank] = gap_ns;
        }
        return saved;
    }

  private:
    int64_t* row(size_t index) { return &ends_[index % kReach * (ranks_ + 1)]; }

    bool is_known(size_t index, const Meeting& meeting) const {
        if (!is_begun_ || meeting.arrivals.size() != ranks_) return false;
        return std::all_of(meeting.arrivals.begin(), meeting.arrivals.end(), [&](const RankReady& one) {
            const auto after = static_cast<size_t>(one.after);
            return one.after >= 0 && after >= from_ && after < index && index - after < kReach;
        });
    }

    static bool is_uniform(const Meeting& meeting) {
        const RankReady& first = meeting.arrivals.front();
        return std::all_of(meeting.arrivals.begin(), meeting.arrivals.end(), [&](const RankReady& one) {
            return one.after == first.after && one.behind == first.behind;
        });
    }

    // Of ranks that came after the same, the two slowest decide: so the time grows with the ranks, and not
    // with their square.
    void all_at_once(size_t index, const Meeting& meeting) {
        Meeting slowest = {meeting.transfer_ns, {}};
        size_t first = 0;
        int64_t first_ns = INT64_MIN, second_ns = INT64_MIN;
        for (size_t rank = 0; rank < ranks_; ++rank) {
            const int64_t own_ns = meeting.arrivals[rank].own_ns;
            if (own_ns > first_ns) first = rank;
            second_ns = std::max(second_ns, std::min(own_ns, first_ns));
            first_ns = std::max(first_ns, own_ns);
        }
        for (size_t without = 0; without <= ranks_; ++without) {
            RankReady last = meeting.arrivals.front();
            last.own_ns = without == first ? second_ns : first_ns;
            row(index)[without] = there_ns(last, without) + meeting.transfer_ns;
        }
    }

    int64_t there_ns(const RankReady& one, size_t without) {
        const int64_t ready_ns = row(static_cast<size_t>(one.after))[without] + one.own_ns;
        if (one.behind < one.after) return ready_ns;
        return std::max(ready_ns, row(static_cast<size_t>(one.behind))[without]);
    }

    // When the last of the ranks but that one is there; `without` = ranks: of all.
    int64_t end_ns(const Meeting& meeting, size_t without) {
        int64_t last_ns = INT64_MIN;
        for (size_t rank = 0; rank < ranks_; ++rank) {
            if (rank == without) continue;
            last_ns = std::max(last_ns, there_ns(meeting.arrivals[rank], without));
        }
        return last_ns;
    }

    size_t ranks_, from_ = 0;
    bool is_begun_ = false;
    std::vector<int64_t> ends_, gaps_;
};

}  // namespace

std::vector<std::vector<int64_t>> saved_without_each(std::span<const Meeting> meetings) {
    size_t ranks = 0;
    for (const Meeting& one : meetings) ranks = std::max(ranks, one.arrivals.size());
    std::vector<std::vector<int64_t>> saved(meetings.size());
    if (ranks < 2) return saved;
    Replay replay(ranks);
    for (size_t i = 0; i < meetings.size(); ++i) saved[i] = replay.next(i, meetings[i]);
    return saved;
}

}  // namespace gpushim::analysis
