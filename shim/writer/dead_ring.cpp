#include "dead_ring.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <system_error>
#include <utility>

#include "../base/file_status.h"
#include "../ring/open_slot.h"
#include "../ring/rings.h"

namespace gpushim::shim {
namespace {

// A damaged file may say anything.
bool is_ring(const RingHeader& header, size_t size_bytes, const uint8_t (&trace_uuid)[16]) {
    const uint64_t slots = header.slot_count;
    return header.magic == kRingMagic && header.version == kRingVersion && (slots & (slots - 1)) == 0 &&
           kSlotsOffset + slots * sizeof(Slot) <= size_bytes &&
           std::memcmp(header.trace_uuid, trace_uuid, sizeof trace_uuid) == 0;
}

bool is(const Slot& slot, EventKind kind) { return slot.kind == static_cast<uint8_t>(kind); }

}  // namespace

std::unique_ptr<DeadRing> DeadRing::open(int folder, const char* name, const uint8_t (&trace_uuid)[16]) {
    const int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0) throw std::system_error(errno, std::generic_category(), name);
    struct stat facts;
    const bool fits = status_of(file, &facts) == 0 && S_ISREG(facts.st_mode) &&
                      facts.st_size >= static_cast<off_t>(kSlotsOffset);
    const auto size_bytes = static_cast<size_t>(fits ? facts.st_size : 0);
    void* memory = fits ? mmap(nullptr, size_bytes, PROT_READ, MAP_SHARED, file, 0) : MAP_FAILED;
    const int error = errno;
    close(file);
    if (!fits) return nullptr;
    if (memory == MAP_FAILED) throw std::system_error(error, std::generic_category(), name);
    const auto* header = static_cast<const RingHeader*>(memory);
    if (is_ring(*header, size_bytes, trace_uuid))
        return std::unique_ptr<DeadRing>(new DeadRing(header, size_bytes));
    munmap(memory, size_bytes);
    return nullptr;
}

DeadRing::DeadRing(const RingHeader* header, size_t size_bytes)
    : header_(header),
      slots_(reinterpret_cast<const Slot*>(reinterpret_cast<const char*>(header) + kSlotsOffset)),
      size_bytes_(size_bytes) {
    // Relaxed, here and below: whoever wrote is dead.
    for (const auto& dropped : header->dropped) dropped_.push_back(dropped.load(std::memory_order_relaxed));
}

DeadRing::~DeadRing() { munmap(const_cast<RingHeader*>(header_), size_bytes_); }

void DeadRing::add_pairs(std::vector<ClockPair>& pairs) const {
    const uint32_t count = header_->anchor_count.load(std::memory_order_relaxed);
    for (uint64_t i = count > kAnchors ? count - kAnchors : 0; i < count; ++i) {
        const Anchor& anchor = header_->anchors[i % kAnchors];
        pairs.push_back({anchor.ticks, anchor.mono_ns, anchor.real_ns});
    }
}

bool DeadRing::is_text(uint64_t position) const {
    const Slot& slot = slot_at(position);
    return slot.mark.load(std::memory_order_relaxed) == complete_mark(position) && is(slot, EventKind::text);
}

std::string_view DeadRing::text_after(uint64_t position, uint64_t most_bytes) {
    if (!is_text(position + 1)) return {};
    std::string& text = texts_.emplace_back();
    for (uint64_t at = position + 1; text.size() < most_bytes && is_text(at); ++at)
        text.append(reinterpret_cast<const char*>(slot_at(at).word), kTextBytes);
    if (text.size() > most_bytes) text.resize(most_bytes);
    return text;
}

// Polls are counted in their slot for as long as they go on. The texts of an unfinished event are told all
// the same, to account for their slots.
void DeadRing::add(uint64_t position, EventList& events) {
    const Slot& slot = slot_at(position);
    const bool complete = slot.mark.load(std::memory_order_relaxed) == complete_mark(position);
    const bool whole = complete || (is(slot, EventKind::query) && slot.exit != 0);
    Event& event = events.add();
    copy_slot(event.slot, slot, whole);
    event.ring_id = header_->ring_id;
    event.position = position;
    event.thread_id = static_cast<int32_t>(owner_of(*header_, position).number);
    event.enter_ns = 0;
    event.exit_ns = whole ? 0 : kUnfinished;
    const bool has_text =
        is(slot, EventKind::named) || is(slot, EventKind::marker) || is(slot, EventKind::span);
    event.text =
        has_text ? text_after(position, whole ? slot.word[kLengthWord] : UINT64_MAX) : std::string_view();
}

// Open or complete.
bool DeadRing::is_used(uint64_t position) const {
    const uint32_t mark = slot_at(position).mark.load(std::memory_order_relaxed);
    return mark == open_mark(position) || mark == complete_mark(position);
}

size_t DeadRing::most_events(const Committed& committed) {
    end_ = committed.next;
    if (header_->slot_count == 0) return 0;
    while (is_used(end_)) ++end_;
    return committed.open.size() + (end_ - committed.next);
}

size_t DeadRing::read(const Committed& committed, EventList& events) {
    next_ = committed.next;
    if (header_->slot_count == 0) return 0;
    const size_t before = events.all().size();
    for (const uint64_t position : committed.open)
        if (is_used(position)) add(position, events);
    const size_t open = events.all().size() - before;
    for (; next_ < end_; ++next_)
        if (!is_text(next_)) add(next_, events);
    return open;
}

std::optional<OpenSlot> DeadRing::open_call() const {
    const auto position = outermost_open(*header_, slots_);
    if (!position) return std::nullopt;
    const Slot& slot = slot_at(*position);
    return OpenSlot{slot.enter, owner_of(*header_, *position).tid, slot.api};
}

TickMap tick_map(std::vector<ClockPair> pairs) {
    std::sort(pairs.begin(), pairs.end(),
              [](const ClockPair& a, const ClockPair& b) { return a.ticks < b.ticks; });
    TickMap map(pairs.size() + 1);
    for (const ClockPair& pair : pairs) map.add(pair);
    return map;
}

void map_times(std::span<Event> events, std::vector<ClockPair> pairs) {
    const TickMap map = tick_map(std::move(pairs));
    for (Event& event : events) {
        event.enter_ns = map.mono_ns(event.slot.enter);
        if (event.exit_ns != kUnfinished) event.exit_ns = map.mono_ns(event.slot.exit);
    }
}

}  // namespace gpushim::shim
