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

int64_t floor_of(int64_t ns) { return (ns >= 0 ? ns : ns - (kSlotNs - 1)) / kSlotNs; }

}  // namespace

int64_t KeptSlots::number_of(int64_t mono_ns) const { return floor_of(mono_ns + offset_ns_); }
int64_t KeptSlots::begin_of(int64_t number) const { return number * kSlotNs - offset_ns_; }

bool KeptSlots::has_rows_in(int64_t from_ns, int64_t until_ns) const {
    const int64_t last = number_of(until_ns);
    for (auto at = slots_.lower_bound(number_of(from_ns)); at != slots_.end() && at->first <= last; ++at) {
        const KeptSlot& slot = at->second;
        if (slot.from_ns < end_of(at->first) && slot.from_ns <= until_ns) return true;
        for (const HeldWindow& window : slot.windows)
            if (window.holds() && window.from_ns <= until_ns && window.until_ns > from_ns) return true;
    }
    return false;
}

KeptSlot& KeptSlots::at(int64_t mono_ns) {
    const int64_t number = number_of(mono_ns);
    changed_.insert(number);
    KeptSlot& slot = slots_.try_emplace(number, KeptSlot{begin_of(number)}).first->second;
    widen(number, slot);
    return slot;
}

HeldWindow* KeptSlot::window_at(int64_t ns) {
    const auto found =
        std::ranges::find_if(windows, [&](const HeldWindow& window) { return window.has(ns); });
    return found == windows.end() ? nullptr : &*found;
}

void KeptSlots::add_window(KeptSlot& slot, int64_t begin_ns, int64_t until_ns) {
    if (slot.windows.size() < kMostWindows)
        slot.windows.push_back({begin_ns, begin_ns, until_ns});
    else
        slot.windows.back().until_ns = std::max(slot.windows.back().until_ns, until_ns);
}

void KeptSlots::widen(int64_t number, KeptSlot& slot) {
    const int64_t begin_ns = std::max(newest_window_.from_ns, begin_of(number));
    const int64_t until_ns = std::min(newest_window_.until_ns, end_of(number));
    if (until_ns <= begin_ns) return;
    if (slot.windows.empty() || slot.windows.back().begin_ns < begin_ns)
        add_window(slot, begin_ns, until_ns);
    else if (slot.windows.back().begin_ns == begin_ns)
        slot.windows.back().until_ns = until_ns;
}

// How many rows it had is not known any more: as many as its share of what is left of the slot's time.
void KeptSlots::load_window(int64_t from_ns, int64_t until_ns) {
    if (until_ns <= from_ns) return;
    for (auto at = slots_.lower_bound(number_of(from_ns));
         at != slots_.end() && begin_of(at->first) < until_ns; ++at) {
        KeptSlot& slot = at->second;
        const int64_t left_ns = std::max<int64_t>(end_of(at->first) - std::max(slot.from_ns, from_ns), 0);
        add_window(slot, std::max(from_ns, begin_of(at->first)), std::min(until_ns, end_of(at->first)));
        HeldWindow& window = slot.windows.back();
        const auto held_ns = static_cast<double>(window.until_ns - window.begin_ns);
        window.rows = static_cast<int64_t>(static_cast<double>(slot.rows) * held_ns /
                                           (held_ns + static_cast<double>(left_ns)));
    }
}

void KeptSlots::add_row(KeptSlot& slot, int64_t ns) {
    HeldWindow* window = slot.window_at(ns);
    int64_t& from_ns = window != nullptr ? window->from_ns : slot.from_ns;
    from_ns = std::min(from_ns, ns);
    ++slot.rows;
    if (window != nullptr) ++window->rows;
}

// The rest: from what is left of it to the next window, or from the end of the one it is in.
KeptSlots::Span KeptSlots::span_of(Part part) const {
    const KeptSlot& slot = slots_.at(part.slot);
    if (part.window != kRest) {
        const HeldWindow& window = slot.windows[static_cast<size_t>(part.window)];
        return {window.from_ns, window.until_ns};
    }
    Span rest = {slot.from_ns, end_of(part.slot)};
    for (const HeldWindow& window : slot.windows) {
        if (window.has(rest.from_ns)) rest.from_ns = window.until_ns;
        if (window.begin_ns > rest.from_ns && window.begin_ns < window.until_ns)
            rest.until_ns = std::min(rest.until_ns, window.begin_ns);
    }
    return rest;
}

void KeptSlots::gone(Part part, int64_t until_ns, int64_t rows) {
    KeptSlot& slot = slots_.at(part.slot);
    slot.rows = std::max<int64_t>(slot.rows - rows, 0);
    if (part.window == kRest) {
        slot.from_ns = until_ns;
        return;
    }
    HeldWindow& window = slot.windows[static_cast<size_t>(part.window)];
    window.from_ns = until_ns;
    window.rows = window.holds() ? std::max<int64_t>(window.rows - rows, 0) : 0;
}

bool KeptSlots::is_over(int64_t number) const {
    const Span rest = span_of({number, kRest});
    return rest.from_ns >= rest.until_ns && !slots_.at(number).holds();
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

KeptSlots::Slow KeptSlots::slowest() const {
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

int64_t KeptSlots::first_newest() const { return std::prev(slots_.end())->first - (kNewest - 1); }

KeptSlots::Rows KeptSlots::count() const {
    Rows rows;
    for (const auto& [number, slot] : slots_) {
        rows.all += slot.rows;
        for (const HeldWindow& window : slot.windows) rows.held += window.rows;
        if (slot.asked) rows.asked += slot.rows;
        if (number >= first_newest()) rows.newest += slot.rows;
    }
    return rows;
}

KeptSlots::Worth KeptSlots::worth_of(int64_t number, const KeptSlot& slot, const Rows& rows, const Slow& slow,
                                     int64_t first_rows) const {
    if (number >= first_newest())
        return {rows.newest <= rows.all / 2 ? Class::newest : Class::too_much, 0, number};
    if (slow.contains(number)) return {Class::slowest, slow.at(number), number};
    if (slot.asked && rows.asked <= rows.all / 2) return {Class::asked, 0, number};
    if (slot.from_ns > begin_of(number)) return {Class::any, kPartGone, number};
    if (number < number_of(started_ns_) + kFirst && first_rows <= rows.all / 4)
        return {Class::first, 0, -number};
    return {Class::any, std::countr_zero(static_cast<uint64_t>(number)), number};
}

KeptSlots::Part KeptSlots::least_worth(Part not_this) const {
    if (slots_.empty()) return {kNone, kRest};
    const Slow slow = slowest();
    const Rows rows = count();
    int64_t first_rows = 0;
    Worth least;
    Part found = {kNone, kRest};
    const auto consider = [&](Part part, const Worth& worth) {
        if (part == not_this || (found.slot != kNone && worth >= least)) return;
        least = worth;
        found = part;
    };
    for (const auto& [number, slot] : slots_) {
        if (number < number_of(started_ns_) + kFirst) first_rows += slot.rows;
        const Worth worth = worth_of(number, slot, rows, slow, first_rows);
        const Span rest = span_of({number, kRest});
        if (rest.from_ns < rest.until_ns || !slot.holds()) consider({number, kRest}, worth);
        const Worth held = {Class::held, std::countr_zero(static_cast<uint64_t>(number)), number};
        for (size_t i = 0; i < slot.windows.size(); ++i) {
            const HeldWindow& window = slot.windows[i];
            const bool is_whole = window.from_ns == window.begin_ns;
            if (window.holds())
                consider({number, static_cast<int64_t>(i)},
                         is_whole && rows.held <= rows.all / 2 ? held : worth);
        }
    }
    return found;
}

}  // namespace gpushim::shim
