#include "drain.h"

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

#include "../hooks/counters.h"
#include "../ring/open_slot.h"
#include "../timing/measuring.h"
#include "../timing/programmatic.h"

namespace gpushim::shim {
namespace {

const Slot& slot_at(const Ring& ring, uint64_t position) {
    return ring.slots[position & (ring.header->slot_count - 1)];
}

// Acquire: with the mark, what the producer wrote before it.
uint32_t mark_of(const Slot& slot) { return slot.mark.load(std::memory_order_acquire); }

// One that is being adopted comes with the next scan: its turn is still that of its last owner.
bool is_in_use(const Ring& ring) {
    const RingState state = ring.state.load(std::memory_order_acquire);
    return state == RingState::taken || state == RingState::left;
}

bool has_memory(const Ring& ring) {
    const RingState state = ring.state.load(std::memory_order_acquire);
    return state != RingState::absent && state != RingState::making;
}

}  // namespace

void KeptPairs::add(const ClockPair& pair) {
    if (!pairs_.empty() && pair.mono_ns - last_ns_ < kEveryNs) return;
    if (pairs_.size() >= kMost) {
        size_t kept = 0;
        for (size_t i = 0; i < pairs_.size(); i += 2) pairs_[kept++] = pairs_[i];
        pairs_.resize(kept);
    }
    pairs_.push_back(pair);
    last_ns_ = pair.mono_ns;
}

Drain::Drain(ClockKind clock, const ClockPair& first)
    : clock_(clock), events_(static_cast<Event*>(::operator new(kMostEvents * sizeof(Event)))) {
    map_.add(first);
    pairs_.add(first);
}

void Drain::scan(bool ending) {
    const ClockPair started = read_pair(clock_);
    // What begins from here on may use what is made in a ring that is looked at too early to show it.
    until_ = ending ? UINT64_MAX : started.ticks;
    const bool was_cut_short = std::exchange(cut_short_, false);
    fullest_ = 0;
    find_rings();
    share_out();
    for (Ring* ring : order_) scan_ring(*ring, ending);
    // Of spare ones, too: their last owner may have lost something after the last scan.
    for (Ring& ring : all_rings())
        if (has_memory(ring)) note_drops(*ring.header, cursor_of(ring));
    if (process_ring() != nullptr) note_drops(*process_ring(), process_cursor_);
    note_counts_of_hooks();
    map_times();
    if (!cut_short_ && !was_cut_short) watermark_.scanned(started.mono_ns, started.mono_ns);
    if (!cut_short_ && ending) watermark_.ends(read_pair(clock_).mono_ns);
}

void Drain::find_rings() {
    // The turns are copied: they change under way.
    std::vector<std::pair<uint64_t, Ring*>> by_turn;
    for (Ring& ring : all_rings())
        if (is_in_use(ring)) by_turn.emplace_back(ring.turn.load(std::memory_order_relaxed), &ring);
    std::sort(by_turn.begin(), by_turn.end());
    order_.clear();
    for (const auto& [turn, ring] : by_turn) order_.push_back(ring);
}

// How many slots that are not read yet began until then.
uint64_t Drain::begun(const Ring& ring, uint64_t until) {
    const uint64_t next = cursor_of(ring).next;
    uint64_t low = next;
    // Relaxed: an estimate; the slots say for themselves what they are.
    uint64_t high = std::max(next, ring.header->head.load(std::memory_order_relaxed));
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        const Slot& slot = slot_at(ring, middle);
        const bool is_there = (mark_of(slot) | 1) == complete_mark(middle);
        is_there&& slot.enter <= until ? low = middle + 1 : high = middle;
    }
    return low - next;
}

uint64_t Drain::begun(uint64_t until) {
    uint64_t count = 0;
    for (const Ring* ring : order_) count += begun(*ring, until);
    return count;
}

// Where there is more than a batch holds, every ring is read up to the same time: what is used in one may
// have been made in another.
void Drain::share_out() {
    const size_t room = is_full() ? 0 : most_ - count_;
    if (begun(until_) <= room) return;
    cut_short_ = true;
    uint64_t low = UINT64_MAX;
    for (const Ring* ring : order_)
        if (begun(*ring, until_) != 0) low = std::min(low, slot_at(*ring, cursor_of(*ring).next).enter);
    uint64_t high = until_;
    while (high - low > 1) {
        const uint64_t middle = low + (high - low) / 2;
        begun(middle) <= room ? low = middle : high = middle;
    }
    until_ = low;
}

void Drain::scan_ring(Ring& ring, bool ending) {
    Cursor& cursor = cursor_of(ring);
    // Before the scan: what it finds may be of a thread that has just taken the ring over.
    if (!cursor.open.empty() && is_orphan(ring))
        for (Open& open : cursor.open) open.over = true;
    scan_slots(ring, cursor);
    settle_open(ring, cursor, ending);
    const uint64_t used = cursor.next - ring.header->tail.load(std::memory_order_relaxed);
    fullest_ = std::max(fullest_, static_cast<double>(used) / ring.header->slot_count);
}

void Drain::scan_slots(const Ring& ring, Cursor& cursor) {
    for (; !is_full(); ++cursor.next) {
        const Slot& slot = slot_at(ring, cursor.next);
        const uint32_t mark = mark_of(slot);
        const bool complete = mark == complete_mark(cursor.next);
        if (!complete && mark != open_mark(cursor.next)) return;
        if (slot.enter > until_) return;
        cursor.changed = changed_ = true;
        for (Open& open : cursor.open) open.over = open.over || shows_end_of(open.flags, slot);
        // By the ring's list, which has it before the slot does: the thread may be about to write it.
        if (kind_of(slot) == EventKind::thread) cursor.thread = owner_of(*ring.header, cursor.next).number;
        if (!complete) {
            cursor.open.push_back({cursor.next, cursor.thread, slot.flags, false, false, 0});
            continue;
        }
        if (kind_of(slot) == EventKind::text) continue;
        emit(ring, {cursor.next, cursor.thread, slot.flags, false, false, 0}, true);
    }
    cut_short_ = true;
}

// Those that were open when they were first seen.
void Drain::settle_open(const Ring& ring, Cursor& cursor, bool all_over) {
    std::erase_if(cursor.open, [&](const Open& open) {
        const Slot& slot = slot_at(ring, open.position);
        const bool complete = mark_of(slot) == complete_mark(open.position);
        if (!complete && !open.over && !all_over) return false;
        if (is_full()) {
            cut_short_ = true;
            return false;
        }
        // Polls are counted in their slot for as long as they go on.
        const bool whole = complete || (kind_of(slot) == EventKind::query && slot.exit != 0);
        emit(ring, open, whole);
        cursor.changed = changed_ = true;
        return true;
    });
}

void Drain::emit(const Ring& ring, const Open& from, bool finished) {
    Event& event = *new (events_.get() + count_++) Event;
    copy_slot(event.slot, slot_at(ring, from.position), finished);
    event.ring_id = ring.header->ring_id;
    event.position = from.position;
    event.thread_id = static_cast<int32_t>(from.thread);
    event.enter_ns = from.is_mapped ? from.enter_ns : kNotMapped;
    event.exit_ns = finished ? kNotMapped : kUnfinished;
    // Those of an unfinished event too: their slots have to be accounted for.
    event.text = text_after(ring, from.position, finished ? event.slot.word[kLengthWord] : UINT64_MAX);
}

std::string_view Drain::text_after(const Ring& ring, uint64_t position, uint64_t length) {
    const auto is_text = [&](uint64_t at) {
        const Slot& slot = slot_at(ring, at);
        return mark_of(slot) == complete_mark(at) && kind_of(slot) == EventKind::text;
    };
    if (!is_text(position + 1)) return {};
    std::string& text = texts_.emplace_back();
    for (uint64_t at = position + 1; text.size() < length && is_text(at); ++at)
        text.append(reinterpret_cast<const char*>(slot_at(ring, at).word), kTextBytes);
    if (text.size() > length) text.resize(length);
    return text;
}

void Drain::note_drops(const RingHeader& header, Cursor& cursor) {
    for (size_t i = 0; i < kDrops; ++i) {
        // Relaxed: a count; the newest value comes with the next scan.
        const uint64_t dropped = header.dropped[i].load(std::memory_order_relaxed);
        if (dropped == cursor.dropped[i]) continue;
        cursor.dropped[i] = dropped;
        cursor.changed = changed_ = true;
    }
}

void Drain::note_counts_of_hooks() {
    // Relaxed: a count, as above.
    const uint64_t asked = counters.unknown_abi.load(std::memory_order_relaxed);
    const uint64_t programmatic = programmatic_operations();
    const uint64_t measured = measured_operations();
    changed_ = changed_ || asked != unknown_abi_ || programmatic != programmatic_ || measured != measured_;
    unknown_abi_ = asked;
    programmatic_ = programmatic;
    measured_ = measured;
}

// A pair that is newer than all the times to be put between pairs.
void Drain::map_times() {
    const ClockPair now = read_pair(clock_);
    map_.add(now);
    pairs_.add(now);
    for (; mapped_ < count_; ++mapped_) {
        Event& event = events_.get()[mapped_];
        if (event.enter_ns == kNotMapped) event.enter_ns = map_.mono_ns(event.slot.enter);
        if (event.exit_ns == kNotMapped) event.exit_ns = map_.mono_ns(event.slot.exit);
    }
    for (Ring* ring : order_) {
        // The pairs that explain a call's beginning may be gone when it ends.
        for (Open& open : cursor_of(*ring).open) {
            if (open.is_mapped) continue;
            open.enter_ns = map_.mono_ns(slot_at(*ring, open.position).enter);
            open.is_mapped = true;
        }
        put_anchor(*ring->header, now);
    }
}

void Drain::put_anchor(RingHeader& header, const ClockPair& pair) {
    const uint32_t count = header.anchor_count.load(std::memory_order_relaxed);
    header.anchors[count % kAnchors] = {pair.ticks, pair.mono_ns, pair.real_ns};
    // Release: with the count, the pair.
    header.anchor_count.store(count + 1, std::memory_order_release);
}

bool Drain::has_timed() const {
    return std::any_of(events_.get(), events_.get() + count_, [](const Event& event) {
        return event.slot.kind == static_cast<uint8_t>(EventKind::timed);
    });
}

Batch Drain::batch() {
    progress_.clear();
    for (Ring& ring : all_rings())
        if (has_memory(ring)) report(*ring.header, cursor_of(ring));
    if (process_ring() != nullptr) report(*process_ring(), process_cursor_);
    Batch batch = {{events_.get(), count_}, progress_, pairs_.all(), watermark_.ns()};
    batch.unknown_abi = unknown_abi_;
    batch.programmatic = programmatic_;
    batch.measured = measured_;
    return batch;
}

void Drain::report(const RingHeader& header, Cursor& cursor) {
    if (!cursor.changed) return;
    cursor.open_positions.clear();
    for (const Open& open : cursor.open) cursor.open_positions.push_back(open.position);
    progress_.push_back({header.ring_id, cursor.next, cursor.open_positions, cursor.dropped});
}

void Drain::committed() {
    for (Ring& ring : all_rings()) {
        if (!has_memory(ring) || !cursor_of(ring).changed) continue;
        Cursor& cursor = cursor_of(ring);
        // Release: what was read here is done with before the producer writes there again.
        const uint64_t tail = cursor.open.empty() ? cursor.next : cursor.open.front().position;
        ring.header->tail.store(tail, std::memory_order_release);
        cursor.changed = false;
    }
    process_cursor_.changed = false;
    changed_ = false;
    count_ = mapped_ = 0;
    texts_.clear();
    pairs_.clear();
}

Drain::Cursor& Drain::cursor_of(const Ring& ring) {
    const auto place = static_cast<size_t>(&ring - all_rings().data());
    if (place >= cursors_.size()) cursors_.resize(place + 1);
    Cursor& cursor = cursors_[place];
    if (cursor.ring_id == ring.header->ring_id) return cursor;
    // A new ring where another was.
    cursor = Cursor();
    cursor.ring_id = ring.header->ring_id;
    cursor.thread = owner_of(*ring.header, 0).number;
    return cursor;
}

}  // namespace gpushim::shim
