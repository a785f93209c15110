#include "kept_slots.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <tuple>

namespace gpushim::shim {
namespace {

constexpr int64_t kSlotNs = 10'000'000'000;

// Before any that is whole.
constexpr int64_t kPartGone = -1;

enum class Class { too_much, any, first, asked, slowest, newest };

int64_t floor_of(int64_t ns) { return (ns >= 0 ? ns : ns - (kSlotNs - 1)) / kSlotNs; }

}  // namespace

int64_t KeptSlots::number_of(int64_t mono_ns) const { return floor_of(mono_ns + offset_ns_); }
int64_t KeptSlots::begin_of(int64_t number) const { return number * kSlotNs - offset_ns_; }

// The rows of a slot are those from its from_ns on.
bool KeptSlots::has_rows_in(int64_t from_ns, int64_t until_ns) const {
    const int64_t last = number_of(until_ns);
    for (auto slot = slots_.lower_bound(number_of(from_ns)); slot != slots_.end() && slot->first <= last;
         ++slot)
        if (slot->second.from_ns < end_of(slot->first) && slot->second.from_ns <= until_ns) return true;
    return false;
}

KeptSlot& KeptSlots::at(int64_t mono_ns) {
    const int64_t number = number_of(mono_ns);
    changed_.insert(number);
    return slots_.try_emplace(number, KeptSlot{begin_of(number)}).first->second;
}

// What tells the first step; others may be of anything. Marks go before ranges.
bool KeptSlots::is_stepping(int64_t thread, bool marks) {
    if (stepping_thread_ == kNone || (marks && !marks_)) {
        stepping_thread_ = thread;
        marks_ = marks;
    }
    return thread == stepping_thread_ && marks == marks_;
}

void KeptSlots::add_step(int64_t from_ns, int64_t until_ns) {
    if (until_ns <= from_ns) return;
    KeptSlot& slot = at(until_ns);
    ++slot.steps;
    slot.step_ns += until_ns - from_ns;
}

void KeptSlots::mark(int64_t thread, int64_t mono_ns) {
    if (!is_stepping(thread, true)) return;
    if (last_mark_ns_ != 0) add_step(last_mark_ns_, mono_ns);
    last_mark_ns_ = mono_ns;
}

void KeptSlots::step(int64_t thread, int64_t from_ns, int64_t until_ns) {
    if (is_stepping(thread, false)) add_step(from_ns, until_ns);
}

// The first slot is not whole.
double KeptSlots::slowness(int64_t number, const KeptSlot& slot, bool by_steps) const {
    if (by_steps)
        return slot.steps == 0 ? 0 : static_cast<double>(slot.step_ns) / static_cast<double>(slot.steps);
    if (slot.launches == 0) return 0;
    const int64_t from_ns = std::max(begin_of(number), started_ns_);
    return static_cast<double>(end_of(number) - from_ns) / static_cast<double>(slot.launches);
}

std::map<int64_t, int64_t> KeptSlots::slowest() const {
    const bool by_steps =
        std::ranges::any_of(slots_, [](const auto& entry) { return entry.second.steps != 0; });
    std::vector<std::pair<double, int64_t>> by_slowness;
    // The newest is not whole yet.
    for (auto at = slots_.begin(); at != slots_.end() && std::next(at) != slots_.end(); ++at)
        if (const double slow = slowness(at->first, at->second, by_steps); slow > 0)
            by_slowness.emplace_back(slow, at->first);
    std::ranges::sort(by_slowness, std::greater());
    if (by_slowness.size() > kSlowest) by_slowness.resize(kSlowest);
    std::map<int64_t, int64_t> slowest;
    for (const auto& [slow, number] : by_slowness) slowest[number] = static_cast<int64_t>(slow);
    return slowest;
}

int64_t KeptSlots::least_worth(int64_t not_this) const {
    if (slots_.empty()) return kNone;
    const std::map<int64_t, int64_t> slow = slowest();
    const int64_t first = number_of(started_ns_);
    const int64_t newest = std::prev(slots_.end())->first - (kNewest - 1);
    int64_t rows = 0, asked_rows = 0, newest_rows = 0, first_rows = 0;
    for (const auto& [number, slot] : slots_) {
        rows += slot.rows;
        if (slot.asked) asked_rows += slot.rows;
        if (number >= newest) newest_rows += slot.rows;
    }
    std::tuple<Class, int64_t, int64_t> least = {Class::newest, INT64_MAX, INT64_MAX};
    int64_t found = kNone;
    for (const auto& [number, slot] : slots_) {
        std::tuple<Class, int64_t, int64_t> worth = {Class::any,
                                                     std::countr_zero(static_cast<uint64_t>(number)), number};
        if (number < first + kFirst) first_rows += slot.rows;
        if (number >= newest)
            worth = {newest_rows <= rows / 2 ? Class::newest : Class::too_much, 0, number};
        else if (slow.contains(number))
            worth = {Class::slowest, slow.at(number), number};
        else if (slot.asked && asked_rows <= rows / 2)
            worth = {Class::asked, 0, number};
        else if (slot.from_ns > begin_of(number))
            worth = {Class::any, kPartGone, number};
        else if (number < first + kFirst && first_rows <= rows / 4)
            worth = {Class::first, 0, -number};
        if (number == not_this || (found != kNone && worth >= least)) continue;
        least = worth;
        found = number;
    }
    return found;
}

}  // namespace gpushim::shim
