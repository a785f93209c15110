#include "replay.h"

#include <algorithm>

namespace gpushim::analysis {

namespace {

constexpr size_t kNobody = SIZE_MAX;
constexpr int64_t kNever = INT64_MIN / 2;

enum class Count : uint8_t { own, firm };

// Who stands in for a rank at a meeting: that rank, as it was at that meeting.
struct StandIn {
    size_t rank, meeting;
};

struct StepSpan {
    size_t first, count;
};

std::vector<StepSpan> steps_of(const std::vector<Meeting>& meetings) {
    std::vector<StepSpan> steps;
    for (size_t i = 0; i < meetings.size(); ++i) {
        if (i == 0 || meetings[i].step != meetings[i - 1].step) steps.push_back({i, 0});
        ++steps.back().count;
    }
    return steps;
}

class Replay {
  public:
    Replay(const Histories& all, Count count)
        : all_(all),
          count_(count),
          ends_(all.meetings.size()),
          launches_(all.ranks.size()),
          anchors_(ends_.size()),
          later_ns_(all.ranks.size()) {
        for (auto& launches : launches_) launches.resize(ends_.size());
        for (const StepSpan& step : steps_of(all.meetings))
            for (size_t place = 0; place < step.count; ++place) places_.push_back(place);
    }
    Replay& without(size_t rank) { return without_ = rank, *this; }
    // By meeting; of those that have none the rank itself.
    Replay& replaced(size_t rank, std::vector<StandIn> by) {
        replaced_ = rank;
        by_ = std::move(by);
        return *this;
    }

    // Twice: a step's saving is what it is in the long run, and at first hosts may be ahead of their GPUs. So
    // the second time begins with the hosts as far ahead as the first has left them.
    void run() {
        pass();
        pass();
    }

    // Since the begin of its chain; none: it is in none.
    std::optional<int64_t> end_ns(size_t meeting) const {
        return anchors_[meeting] == kNobody ? std::nullopt : std::optional(ends_[meeting]);
    }
    // Of the step in which a chain begins a part is missing.
    bool is_whole_step(size_t meeting) const {
        return all_.meetings[meeting].step != all_.meetings[anchors_[meeting]].step;
    }

  private:
    void pass() {
        bool is_begun = false;
        for (size_t i = 0; i < ends_.size(); ++i) {
            const bool is_known =
                std::all_of(all_.ranks.begin(), all_.ranks.end(),
                            [&](const RankHistory& rank) { return rank.meetings[i].is_known; });
            if (is_known && is_begun && is_of_chain(i)) {
                meet(i);
            } else if (is_known) {
                begin_chain(i);
            }
            if (is_known) last_ = i;
            is_begun = is_known;
            anchors_[i] = is_known ? anchor_ : kNobody;
        }
    }

    // The last meeting before at that place of a step, in the chain before.
    size_t last_like(size_t i) const {
        if (last_ == kNobody) return kNobody;
        const size_t chain = anchors_[last_];
        for (size_t like = last_; like > chain; --like)
            if (places_[like] == places_[i]) return like;
        return kNobody;
    }

    // As it was, but with hosts as far ahead as in the chain before.
    void begin_chain(size_t i) {
        const size_t like = last_like(i);
        anchor_ = i;
        for (size_t rank = 0; rank < all_.ranks.size(); ++rank) {
            if (like != kNobody && rank != without_)
                later_ns_[rank] =
                    launches_[rank][like] - ends_[like] - (at(rank, i).launch_ns - at(rank, i).end_ns);
            launches_[rank][i] = at(rank, i).launch_ns - at(rank, i).end_ns + later_ns_[rank];
        }
        ends_[i] = 0;
    }

    const RankMeeting& at(size_t rank, size_t meeting) const { return all_.ranks[rank].meetings[meeting]; }

    bool is_of_chain(size_t i) const {
        for (size_t rank = 0; rank < all_.ranks.size(); ++rank)
            if (at(rank, i).piece != at(rank, anchor_).piece || at(rank, i).arrivals == 0) return false;
        return true;
    }

    void meet(size_t i) {
        int64_t last_ns = kNever;
        for (size_t rank = 0; rank < all_.ranks.size(); ++rank) {
            if (rank == without_) continue;
            const StandIn as = rank == replaced_ ? by_[i] : StandIn{rank, i};
            const RankHistory& who = all_.ranks[as.rank];
            launches_[rank][i] = latest(rank, i, as.meeting, who.launch(as.meeting));
            last_ns = std::max(last_ns, latest(rank, i, as.meeting, who.arrival(as.meeting)));
        }
        ends_[i] = last_ns + all_.meetings[i].transfer_ns;
    }

    // When the last of these ways, which led to meeting `was`, are at an end at meeting `i`.
    int64_t latest(size_t rank, size_t i, size_t was, std::span<const ReplayPath> paths) const {
        int64_t last_ns = kNever;
        for (const ReplayPath& path : paths) {
            const int64_t from = path.meeting + static_cast<int64_t>(i) - static_cast<int64_t>(was);
            const int64_t from_ns = begin_ns(rank, from, path.is_launch, i);
            if (from_ns == kNever) continue;
            last_ns = std::max(last_ns, from_ns + (count_ == Count::own ? path.own_ns : path.firm_ns));
        }
        return last_ns;
    }

    // What lies before the chain was when it was.
    int64_t begin_ns(size_t rank, int64_t from, bool is_launch, size_t i) const {
        if (from < 0) return kNever;
        const auto meeting = static_cast<size_t>(from);
        if (meeting > i || (meeting == i && !is_launch)) return kNever;
        if (meeting >= anchor_) return is_launch ? launches_[rank][meeting] : ends_[meeting];
        const RankMeeting &then = at(rank, meeting), &anchor = at(rank, anchor_);
        if (!then.is_known || then.piece != anchor.piece) return kNever;
        return is_launch ? then.launch_ns - anchor.end_ns + later_ns_[rank] : then.end_ns - anchor.end_ns;
    }

    const Histories& all_;
    Count count_;
    size_t without_ = kNobody, replaced_ = kNobody, anchor_ = kNobody, last_ = kNobody;
    std::vector<StandIn> by_;
    std::vector<int64_t> ends_;
    std::vector<std::vector<int64_t>> launches_;  // by rank and meeting
    std::vector<size_t> anchors_;                 // the begin of its chain
    std::vector<size_t> places_;                  // in its step
    std::vector<int64_t> later_ns_;               // by rank: its launches, as its chain begins
};

Savings difference(const Replay& with, const Replay& other, size_t meetings) {
    Savings saved(meetings);
    int64_t before_ns = 0;
    for (size_t i = 0; i < meetings; ++i) {
        const auto one = with.end_ns(i), two = other.end_ns(i);
        const int64_t gap_ns = one && two ? *one - *two : 0;
        if (one && two && with.is_whole_step(i)) saved[i] = gap_ns - before_ns;
        before_ns = gap_ns;
    }
    return saved;
}

// Whether a rank made the same calls in both.
bool are_alike(const RankHistory& rank, const StepSpan& one, const StepSpan& other) {
    if (one.count != other.count) return false;
    for (size_t i = 0; i < one.count; ++i) {
        const RankMeeting &a = rank.meetings[one.first + i], &b = rank.meetings[other.first + i];
        if (!b.is_known || b.arrivals == 0 || b.launches == 0 || a.kind != b.kind) return false;
    }
    return true;
}

// The nearest other step in which that rank made the same calls; that step itself, where there is none.
size_t step_like(const RankHistory& rank, const std::vector<StepSpan>& steps, size_t step) {
    constexpr size_t kFar = 64;
    for (size_t by = 1; by <= kFar; ++by) {
        if (step >= by && are_alike(rank, steps[step], steps[step - by])) return step - by;
        if (step + by < steps.size() && are_alike(rank, steps[step], steps[step + by])) return step + by;
    }
    return step;
}

std::vector<StandIn> stand_ins(const Histories& all, size_t rank) {
    std::vector<StandIn> by(all.meetings.size());
    const std::vector<StepSpan> steps = steps_of(all.meetings);
    for (size_t step = 0; step < steps.size(); ++step) {
        const size_t turn = step % (all.ranks.size() - 1);
        const size_t other = turn < rank ? turn : turn + 1;
        const size_t like = step_like(all.ranks[other], steps, step);
        for (size_t i = 0; i < steps[step].count; ++i)
            by[steps[step].first + i] = {other, steps[like].first + i};
    }
    return by;
}

}  // namespace

Savings at_most_saved_without(const Histories& all, size_t rank) {
    Replay with(all, Count::firm), other(all, Count::firm);
    with.run();
    other.without(rank).run();
    return difference(with, other, all.meetings.size());
}

Savings saved_if_like_others(const Histories& all, size_t rank) {
    Replay with(all, Count::own), other(all, Count::own);
    with.run();
    other.replaced(rank, stand_ins(all, rank)).run();
    return difference(with, other, all.meetings.size());
}

}  // namespace gpushim::analysis
