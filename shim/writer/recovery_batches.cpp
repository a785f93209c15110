#include "recovery_batches.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace gpushim::shim {
namespace {

size_t slots_of(const Event& event) { return 1 + (event.text.size() + kTextBytes - 1) / kTextBytes; }

void copy(const Event& from, Event& to) {
    copy_slot(to.slot, from.slot, true);
    to.ring_id = from.ring_id;
    to.position = from.position;
    to.thread_id = from.thread_id;
    to.enter_ns = from.enter_ns;
    to.exit_ns = from.exit_ns;
    to.text = from.text;
}

}  // namespace

RecoveryBatches::RecoveryBatches(std::span<const Event> events, std::span<const RingEvents> rings,
                                 size_t most_slots)
    : events_(events), rings_(rings), latest_(events.size()), earliest_(events.size()) {
    for (const RingEvents& ring : rings_) {
        at_.push_back(ring.begin);
        int64_t latest_ns = INT64_MIN;
        for (size_t i = ring.begin; i < ring.end; ++i)
            latest_[i] = latest_ns = std::max(latest_ns, events_[i].enter_ns);
        int64_t earliest_ns = INT64_MAX;
        for (size_t i = ring.end; i-- > ring.begin;)
            earliest_[i] = earliest_ns = std::min(earliest_ns, events_[i].enter_ns);
    }
    for (const Event& event : events_) last_ns_ = std::max({last_ns_, event.enter_ns, event.exit_ns});
    find_cuts(most_slots);
}

// What was open when the trace was last written comes first: a ring's next position says nothing of it.
void RecoveryBatches::find_cuts(size_t most_slots) {
    int64_t first_ns = INT64_MIN;
    for (const RingEvents& ring : rings_)
        if (ring.open != 0) first_ns = std::max(first_ns, latest_[ring.begin + ring.open - 1]);
    std::vector<std::pair<int64_t, size_t>> slots;
    for (size_t i = 0; i < events_.size(); ++i) slots.emplace_back(latest_[i], slots_of(events_[i]));
    std::sort(slots.begin(), slots.end());
    size_t taken = 0;
    for (size_t i = 0; i < slots.size(); ++i) {
        const auto [begin_ns, count] = slots[i];
        if (taken + count > most_slots && begin_ns > first_ns && i != 0 && slots[i - 1].first < begin_ns) {
            cuts_.push_back(begin_ns);
            taken = 0;
        }
        taken += count;
    }
    cuts_.push_back(INT64_MAX);
}

size_t RecoveryBatches::first_at(size_t begin, size_t end, int64_t cut_ns) const {
    const auto from = latest_.begin();
    const auto place = std::lower_bound(from + static_cast<std::ptrdiff_t>(begin),
                                        from + static_cast<std::ptrdiff_t>(end), cut_ns);
    return static_cast<size_t>(place - from);
}

int64_t RecoveryBatches::earliest_left() const {
    int64_t earliest_ns = last_ns_ + 1;
    for (size_t r = 0; r < rings_.size(); ++r)
        if (at_[r] < rings_[r].end) earliest_ns = std::min(earliest_ns, earliest_[at_[r]]);
    return earliest_ns;
}

bool RecoveryBatches::next(Batch& batch) {
    if (next_cut_ == cuts_.size()) return false;
    const int64_t cut_ns = cuts_[next_cut_++];
    const std::vector<size_t> from = at_;
    size_t count = 0;
    for (size_t r = 0; r < rings_.size(); ++r) {
        at_[r] = first_at(from[r], rings_[r].end, cut_ns);
        count += at_[r] - from[r];
    }
    list_ = EventList(count);
    progress_.clear();
    for (size_t r = 0; r < rings_.size(); ++r) {
        for (size_t i = from[r]; i < at_[r]; ++i) copy(events_[i], list_.add());
        progress_.push_back(rings_[r].last);
        if (at_[r] < rings_[r].end) progress_.back().next = events_[at_[r]].position;
    }
    batch = {list_.all(), progress_, {}, earliest_left()};
    return true;
}

}  // namespace gpushim::shim
