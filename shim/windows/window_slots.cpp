#include "window_slots.h"

#include <algorithm>

namespace gpushim::shim {
namespace {

constexpr int64_t kShortestNs = 50'000'000;
constexpr int64_t kShortestSleepNs = 1'000'000;

int64_t slot_at(int64_t real_ns) { return real_ns / kSlotNs - (real_ns % kSlotNs < 0 ? 1 : 0); }

}  // namespace

int64_t WindowSlots::look(const Moment& now, bool is_on, const Spent& spent, const TakeLoads& take_loads) {
    if (is_open_) move_on(now, spent);
    if (!is_on || now.ending) {
        if (is_open_) close(now.mono_ns, spent);
        decided_ = kNoSlot;
        return kSlotNs;
    }
    // The first is not to wait for its slot.
    const int64_t slot = slot_at(now.real_ns + (decided_ == kNoSlot ? 0 : kLeadNs));
    if (slot != decided_) {
        decide(slot, take_loads());
        plan_slot(now, slot, spent);
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
    const bool is_spent = budget_share_ < 1 && spent.busiest_ns >= allowance_ns_;
    if (is_spent && now.mono_ns > from_ns_) close(now.mono_ns, spent);
}

void WindowSlots::decide(int64_t slot, const std::vector<ThreadLoad>& loads) {
    const bool is_first = decided_ == kNoSlot;
    decided_ = slot;
    if (!is_first && budget_share_ < 1) plan_ = governor_.decide(loads);
    const double left_share = std::max(0.0, budget_share_ - share_taken({0, 1}, loads));
    allowance_ns_ = static_cast<int64_t>(left_share * static_cast<double>(kSlotNs * plan_.every));
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
    is_open_ = true;
    from_ns_ = from_ns;
    until_ns_ = until_ns;
    begin_piece(slot, from_ns, begin_ns + kSlotNs, spent);
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
    until_ns_ = until_ns;
    is_open_ = false;
}

int64_t WindowSlots::time_left(const Moment& now, const Spent& spent) const {
    int64_t next_ns = begin_of(decided_ + 1, now) - kLeadNs;
    if (is_open_) next_ns = std::min({next_ns, until_ns_, begin_of(piece_.slot + 1, now)});
    int64_t left_ns = next_ns - now.mono_ns;
    // At the pace so far the allowance lasts this long; halfway there, it is looked at again.
    const int64_t open_for_ns = now.mono_ns - from_ns_;
    if (is_open_ && budget_share_ < 1 && spent.busiest_ns > 0 && open_for_ns > 0) {
        const double lasts = static_cast<double>(open_for_ns) *
                             static_cast<double>(allowance_ns_ - spent.busiest_ns) /
                             static_cast<double>(spent.busiest_ns);
        left_ns = std::min(left_ns, static_cast<int64_t>(lasts / 2));
    }
    return std::max(left_ns, kShortestSleepNs);
}

}  // namespace gpushim::shim
