#include "window_slots.h"

#include <algorithm>
#include <utility>

namespace gpushim::shim {
namespace {

constexpr int64_t kShortestNs = 50'000'000;
constexpr int64_t kShortestSleepNs = 1'000'000;
// Beats that a window of a run of that age pays for.
struct Age {
    int64_t until_ns, beats;
};
constexpr Age kAges[] = {{kSlotNs, 1}, {2 * kSlotNs, 2}, {WindowSlots::kYoungNs, 4}};
static_assert(kAges[2].beats * WindowSlots::kBeatNs == kSlotNs);

int64_t slot_at(int64_t real_ns) { return real_ns / kSlotNs - (real_ns % kSlotNs < 0 ? 1 : 0); }
int64_t beat_at(int64_t real_ns) {
    return real_ns / WindowSlots::kBeatNs - (real_ns % WindowSlots::kBeatNs < 0 ? 1 : 0);
}

}  // namespace

int64_t WindowSlots::look(const Moment& now, bool is_on, const Spent& spent, const TakeLoads& take_loads) {
    if (is_open_) move_on(now, spent);
    if (!is_on || now.ending) {
        if (is_open_) close(now.mono_ns, spent);
        decided_ = beat_ = kNoSlot;
        return kSlotNs;
    }
    if (began_ns_ == kNever) began_ns_ = earned_until_ns_ = now.mono_ns;
    // The first is not to wait for its slot.
    const int64_t slot = slot_at(now.real_ns + (decided_ == kNoSlot ? 0 : kLeadNs));
    const bool is_new_slot = slot != decided_;
    if (is_new_slot) {
        is_young_ = budget_share_ < 1 && begin_of(slot, now) - began_ns_ < kYoungNs;
        decide(slot, now.mono_ns, take_loads());
        if (!is_young_) plan_slot(now, slot, spent);
    }
    if (is_young_ && is_new_beat(now)) {
        // What a run takes as it starts says little of what it takes later.
        if (!is_new_slot && !is_open_) learn(now.mono_ns, take_loads());
        is_open_ ? go_on(now, spent) : plan_beat(now, spent);
    }
    return time_left(now, spent);
}

// What is over is told; what goes on into the next slot is another window there.
void WindowSlots::move_on(const Moment& now, const Spent& spent) {
    for (;;) {
        const int64_t slot_end_ns = begin_of(piece_.slot + 1, now);
        if (now.mono_ns < std::min(until_ns_, slot_end_ns)) break;
        if (until_ns_ <= slot_end_ns) return close(until_ns_, spent);
        end_piece(slot_end_ns, spent);
        begin_piece(piece_.slot + 1, slot_end_ns, begin_of(piece_.slot + 2, now), spent);
    }
    if (now.mono_ns > from_ns_ && is_spent(now, spent)) return close(now.mono_ns, spent);
    // Should nobody look for long, no more is spent than this.
    if (is_young_) until_ns_ = lasts_ns(now, spent) == kForEver ? kForEver : now.mono_ns + kBeatNs;
}

void WindowSlots::decide(int64_t slot, int64_t now_ns, const std::vector<ThreadLoad>& loads) {
    const bool is_first = decided_ == kNoSlot;
    decided_ = slot;
    if (!is_first && budget_share_ < 1) plan_ = governor_.decide(loads);
    learn(now_ns, loads);
    if (!is_young_) allowance_ns_ = share_of(kSlotNs * plan_.every);
}

// What was earned until now was by what was known until now.
void WindowSlots::learn(int64_t now_ns, const std::vector<ThreadLoad>& loads) {
    earned_ns_ = earned_ns(now_ns);
    earned_until_ns_ = now_ns;
    left_share_ = std::max(0.0, budget_share_ - share_taken({0, 1}, loads));
}

void WindowSlots::plan_slot(const Moment& now, int64_t slot, const Spent& spent) {
    const int64_t begin_ns = begin_of(slot, now);
    if (slot % plan_.every != 0) {
        if (is_open_) until_ns_ = std::min(until_ns_, begin_ns);
        return;
    }
    const bool is_all = plan_.open_ns == kSlotNs && plan_.every == 1;
    const int64_t until_ns = is_all ? kForEver : begin_ns + plan_.open_ns;
    // It is open and goes on.
    if (is_open_ && until_ns_ > begin_ns) {
        until_ns_ = until_ns;
        return;
    }
    const int64_t from_ns = std::max(begin_ns, now.mono_ns + kNoticeNs);
    if (is_open_ || until_ns < from_ns + kShortestNs) return;
    open(from_ns, until_ns, slot, begin_ns + kSlotNs, spent);
}

// Its number is the clock's: runs of one age have windows that begin together.
bool WindowSlots::is_new_beat(const Moment& now) {
    is_first_beat_ = beat_ == kNoSlot;
    const int64_t beat = beat_at(now.real_ns + (is_first_beat_ ? 0 : kLeadNs));
    return beat != std::exchange(beat_, beat);
}

// Of a program that did little for long, because it compiled, the first moment is not all that is timed: it
// has saved up, and spends that beat by beat.
int64_t WindowSlots::allowance_ns(int64_t from_ns) const {
    const Age* age = kAges;
    while (age->until_ns <= from_ns - began_ns_ && age->until_ns < kYoungNs) ++age;
    const int64_t saved = saved_ns(from_ns);
    const bool is_turn = beat_ % age->beats == 0 || is_first_beat_;
    if (!is_turn && !is_open_ && saved < share_of(kSlotNs)) return 0;
    return std::min(saved, share_of(kBeatNs * (is_turn ? age->beats : 1)));
}

// A window that has paid less than it earned is as good as a new one.
void WindowSlots::go_on(const Moment& now, const Spent& spent) {
    const int64_t paid = paid_since_open_ns(spent);
    if (now.mono_ns <= from_ns_ || paid > share_of(now.mono_ns - earns_from_ns_)) return;
    paid_ns_ += paid;
    begin_to_pay(now.mono_ns, spent);
    allowance_ns_ = std::max<int64_t>(0, allowance_ns(now.mono_ns));
}

void WindowSlots::begin_to_pay(int64_t from_ns, const Spent& spent) {
    earns_from_ns_ = from_ns;
    ever_before_ns_ = spent.ever_ns;
    own_before_ns_ = spent.own_ever_ns;
}

void WindowSlots::plan_beat(const Moment& now, const Spent& spent) {
    const int64_t ahead_ns = now.real_ns - now.mono_ns;
    const int64_t from_ns = std::max(beat_ * kBeatNs - ahead_ns, now.mono_ns + kNoticeNs);
    const int64_t allowance = allowance_ns(from_ns);
    if (allowance <= 0) return;
    allowance_ns_ = allowance;
    begin_to_pay(from_ns, spent);
    const int64_t slot = slot_at(from_ns + ahead_ns);
    open(from_ns, kForEver, slot, begin_of(slot + 1, now), spent);
}

void WindowSlots::open(int64_t from_ns, int64_t until_ns, int64_t slot, int64_t slot_end_ns,
                       const Spent& spent) {
    is_open_ = true;
    from_ns_ = from_ns;
    until_ns_ = until_ns;
    begin_piece(slot, from_ns, slot_end_ns, spent);
}

void WindowSlots::begin_piece(int64_t slot, int64_t from_ns, int64_t end_ns, const Spent& spent) {
    piece_ = {slot, from_ns, std::min(until_ns_, end_ns) - from_ns, spent.total_ns, spent.legacy_events};
}

void WindowSlots::end_piece(int64_t until_ns, const Spent& spent) {
    if (until_ns <= piece_.from_ns) return;
    closed_.push_back({piece_.from_ns, until_ns, piece_.slot, piece_.planned_ns,
                       spent.total_ns - piece_.total_ns, spent.legacy_events - piece_.legacy_events});
}

void WindowSlots::close(int64_t until_ns, const Spent& spent) {
    end_piece(until_ns, spent);
    if (until_ns > from_ns_) paid_ns_ += paid_since_open_ns(spent);
    until_ns_ = until_ns;
    is_open_ = false;
}

// Of a run that has a beat to spend in advance. What it has not used for long is not spent at once.
int64_t WindowSlots::saved_ns(int64_t now_ns) const {
    return std::min(share_of(kSlotNs), earned_ns(now_ns) + share_of(kBeatNs) - paid_ns_);
}

int64_t WindowSlots::paid_since_open_ns(const Spent& spent) const {
    return std::max(spent.ever_ns - ever_before_ns_, spent.own_ever_ns - own_before_ns_);
}

bool WindowSlots::is_spent(const Moment& now, const Spent& spent) const {
    if (budget_share_ >= 1) return false;
    if (!is_young_) return spent.busiest_ns >= allowance_ns_;
    return paid_since_open_ns(spent) >= allowance_ns_ + share_of(now.mono_ns - earns_from_ns_);
}

// How long what is allowed lasts at the pace so far; what a young run is allowed grows meanwhile.
int64_t WindowSlots::lasts_ns(const Moment& now, const Spent& spent) const {
    const int64_t open_for_ns = now.mono_ns - (is_young_ ? earns_from_ns_ : from_ns_);
    const int64_t paid_ns = is_young_ ? paid_since_open_ns(spent) : spent.busiest_ns;
    if (!is_open_ || budget_share_ >= 1 || paid_ns <= 0 || open_for_ns <= 0) return kForEver;
    const int64_t earned_ns = is_young_ ? share_of(open_for_ns) : 0;
    if (paid_ns <= earned_ns) return kForEver;
    return static_cast<int64_t>(static_cast<double>(open_for_ns) *
                                static_cast<double>(allowance_ns_ + earned_ns - paid_ns) /
                                static_cast<double>(paid_ns - earned_ns));
}

// Halfway to what is expected, it is looked at again.
int64_t WindowSlots::time_left(const Moment& now, const Spent& spent) const {
    int64_t next_ns = begin_of(decided_ + 1, now) - kLeadNs;
    if (is_open_) next_ns = std::min({next_ns, until_ns_, begin_of(piece_.slot + 1, now)});
    if (is_young_ && is_open_ && until_ns_ != kForEver) next_ns = std::min(next_ns, until_ns_ - kBeatNs / 2);
    if (is_young_ && !is_open_)
        next_ns = std::min(next_ns, (beat_ + 1) * kBeatNs - (now.real_ns - now.mono_ns) - kLeadNs);
    const int64_t left_ns = std::min(next_ns - now.mono_ns, lasts_ns(now, spent) / 2);
    return std::max(left_ns, kShortestSleepNs);
}

}  // namespace gpushim::shim
