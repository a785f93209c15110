#include "rings.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <cstring>

#include "../base/protection.h"
#include "../base/system.h"
#include "host_gap.h"
#include "recorder.h"
#include "ring_folder.h"
#include "ring_memory.h"
#include "test_clock.h"

namespace gpushim::shim {
namespace {

constexpr uint64_t kSmallTmpfs = 256u << 20;
constexpr size_t kMostRingBytes = 64u << 20;
constexpr size_t kShareOfTmpfs = 64;
constexpr uint32_t kSparesKept = 2;
constexpr uint32_t kSparesAtMost = 8;
constexpr size_t kPathBytes = 256;

struct Registry {
    RingSettings settings;
    char folder[kPathBytes];
    char trace_path[sizeof(RingHeader::trace_path)];
    std::atomic<size_t> bytes;
    std::atomic<uint32_t> used;  // descriptors that were ever used: those above are absent
    std::atomic<uint32_t> numbers;
    std::atomic<uint64_t> ids;
    std::atomic<uint64_t> turns;
    std::atomic<bool> starved;  // nothing was to be had a moment ago; the writer clears it
    RingHeader* process_ring;
    Ring rings[kMaxRings];
};
constinit Registry registry = {};

size_t bytes_of(uint32_t slot_count) { return kSlotsOffset + slot_count * sizeof(Slot); }

// --- memory ---------------------------------------------------------------------------------------------

// <folder>/ring-<id>, without the C library's formatting.
bool ring_path(char (&path)[kPathBytes + kRingNameBytes], uint64_t id) {
    char digits[24];
    size_t count = 0;
    do digits[count++] = static_cast<char>('0' + id % 10);
    while ((id /= 10) != 0);
    const size_t folder = strlen(registry.folder);
    memcpy(path, registry.folder, folder);
    memcpy(path + folder, "/ring-", 6);
    for (size_t i = 0; i < count; ++i) path[folder + 6 + i] = digits[count - 1 - i];
    path[folder + 6 + count] = '\0';
    return true;
}

RingHeader* make_header(uint64_t id, uint32_t slot_count) {
    const size_t bytes = slot_count == 0 ? kSlotsOffset : bytes_of(slot_count);
    char path[kPathBytes + kRingNameBytes];
    void* memory = registry.settings.folder != nullptr && ring_path(path, id) ? file_memory(path, bytes)
                                                                              : private_memory(bytes);
    if (memory == nullptr) return nullptr;
    auto* header = static_cast<RingHeader*>(memory);
    const RingSettings& settings = registry.settings;
    header->version = kRingVersion;
    header->slot_count = slot_count;
    header->ring_id = id;
    memcpy(header->trace_uuid, settings.trace_uuid, sizeof header->trace_uuid);
    memcpy(header->boot_id, settings.boot_id, sizeof header->boot_id);
    header->pid = settings.pid;
    header->clock_kind = settings.clock_kind;
    header->process_start_ticks = settings.process_start_ticks;
    memcpy(header->trace_path, registry.trace_path, sizeof header->trace_path);
    // Last, so that a file whose maker was killed in the middle is not taken for a ring.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    header->magic = kRingMagic;
    return header;
}

bool take_bytes(size_t bytes, size_t budget) {
    // Relaxed: a counter that orders nothing.
    if (registry.bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes <= budget) return true;
    registry.bytes.fetch_sub(bytes, std::memory_order_relaxed);
    return false;
}

bool move(Ring& ring, RingState from, RingState to) {
    // Acquire and release: whoever gets a ring sees what its last user left in it.
    return ring.state.compare_exchange_strong(from, to, std::memory_order_acq_rel);
}

RingState state_of(const Ring& ring) { return ring.state.load(std::memory_order_acquire); }

void raise_used(uint32_t to) {
    uint32_t used = registry.used.load(std::memory_order_relaxed);
    while (used < to && !registry.used.compare_exchange_weak(used, to, std::memory_order_release)) {
    }
}

Ring* absent_ring() {
    for (uint32_t i = 0; i < kMaxRings; ++i) {
        if (!move(registry.rings[i], RingState::absent, RingState::making)) continue;
        raise_used(i + 1);
        return &registry.rings[i];
    }
    return nullptr;
}

// A new ring, in state `making`; null where the budget or the file system says no.
Ring* make_ring(uint32_t slot_count, size_t budget) {
    if (!take_bytes(bytes_of(slot_count), budget)) return nullptr;
    Ring* ring = absent_ring();
    RingHeader* header = nullptr;
    if (ring != nullptr)
        header = make_header(registry.ids.fetch_add(1, std::memory_order_relaxed) + 1, slot_count);
    if (header == nullptr) {
        registry.bytes.fetch_sub(bytes_of(slot_count), std::memory_order_relaxed);
        if (ring != nullptr) ring->state.store(RingState::absent, std::memory_order_release);
        return nullptr;
    }
    ring->header = header;
    ring->slots = reinterpret_cast<Slot*>(reinterpret_cast<char*>(header) + kSlotsOffset);
    ring->bytes = bytes_of(slot_count);
    return ring;
}

void unmake_ring(Ring& ring) {
    char path[kPathBytes + kRingNameBytes];
    if (registry.settings.folder != nullptr && ring_path(path, ring.header->ring_id))
        syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    munmap(ring.header, ring.bytes);
    registry.bytes.fetch_sub(ring.bytes, std::memory_order_relaxed);
    ring.state.store(RingState::absent, std::memory_order_release);
}

// --- owners ---------------------------------------------------------------------------------------------

// The slot that says in band whose the next ones are. There is room: asked for, or the ring is empty.
void announce(ThreadState& thread, int32_t tid, uint32_t number) {
    Slot* slot = open_slot(thread, kNoApi, EventKind::thread, 0);
    if (slot == nullptr) return;
    put_words(*slot, event::thread{static_cast<uint64_t>(tid), slot->enter, number});
    slot->exit = slot->enter;
    complete_slot(slot);
}

void become_owner(RingHeader& header, int32_t tid, uint32_t number) {
    const uint64_t count = header.owner_count.load(std::memory_order_relaxed);
    header.owners[count % kOwners] = {header.head.load(std::memory_order_relaxed), tid, number};
    // Release: with the count, the entry.
    header.owner_count.store(count + 1, std::memory_order_release);
}

bool install(ThreadState& thread, Ring& ring, uint32_t number) {
    const int32_t tid = thread_id();
    ring.tid.store(tid, std::memory_order_relaxed);
    ring.number.store(number, std::memory_order_relaxed);
    ring.turn.store(registry.turns.fetch_add(1, std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    become_owner(*ring.header, tid, number);
    ring.state.store(RingState::taken, std::memory_order_release);
    thread.ring = ring.header;
    thread.slots = ring.slots;
    thread.mask = ring.header->slot_count - 1;
    thread.poll_position = 0;
    if (thread.generation != process_state->generation) forget_gap(thread);
    thread.generation = process_state->generation;
    announce(thread, tid, number);
    return true;
}

Ring* spare_ring(uint32_t least_slots) {
    const uint32_t used = registry.used.load(std::memory_order_acquire);
    for (uint32_t i = 0; i < used; ++i) {
        Ring& ring = registry.rings[i];
        if (state_of(ring) != RingState::spare || !move(ring, RingState::spare, RingState::adopting))
            continue;
        // Not before: the writer may have given its memory back.
        if (ring.header->slot_count >= least_slots) return &ring;
        ring.state.store(RingState::spare, std::memory_order_release);
    }
    return nullptr;
}

// Room for a new thread's events, and in the list of owners for its name.
bool may_be_adopted(const RingHeader& header) {
    const uint64_t tail = header.tail.load(std::memory_order_acquire);
    if (header.head.load(std::memory_order_relaxed) - tail > header.slot_count / 2) return false;
    const uint64_t count = header.owner_count.load(std::memory_order_relaxed);
    return count < kOwners || header.owners[(count + 1) % kOwners].position <= tail;
}

Ring* orphaned_ring() {
    const uint32_t used = registry.used.load(std::memory_order_acquire);
    for (uint32_t i = 0; i < used; ++i) {
        Ring& ring = registry.rings[i];
        if (state_of(ring) != RingState::taken || !is_orphan(ring)) continue;
        if (!move(ring, RingState::taken, RingState::adopting)) continue;
        // Again: another may have adopted it, and lent it to a living thread, in between.
        if (is_orphan(ring) && may_be_adopted(*ring.header)) return &ring;
        ring.state.store(RingState::taken, std::memory_order_release);
    }
    return nullptr;
}

Ring* ring_of(const RingHeader* header) {
    const uint32_t used = registry.used.load(std::memory_order_acquire);
    for (uint32_t i = 0; i < used; ++i)
        if (state_of(registry.rings[i]) == RingState::taken && registry.rings[i].header == header)
            return &registry.rings[i];
    return nullptr;
}

bool none_to_be_had() {
    // Relaxed: a hint that spares the search; the writer takes it back.
    registry.starved.store(true, std::memory_order_relaxed);
    return false;
}

}  // namespace

void open_rings(const RingSettings& settings) {
    // Not all of them: that takes memory for those that never were.
    for (Ring& ring : all_rings()) ring.state.store(RingState::absent, std::memory_order_relaxed);
    registry.bytes.store(0, std::memory_order_relaxed);
    registry.used.store(0, std::memory_order_relaxed);
    registry.numbers.store(0, std::memory_order_relaxed);
    registry.ids.store(0, std::memory_order_relaxed);
    registry.starved.store(false, std::memory_order_relaxed);
    registry.settings = settings;
    if (settings.folder != nullptr) {
        strncpy(registry.folder, settings.folder, sizeof registry.folder - 1);
        registry.settings.folder = registry.folder;
    }
    strncpy(registry.trace_path, settings.trace_path, sizeof registry.trace_path - 1);
    registry.process_ring = make_header(0, 0);
}

size_t ring_budget(uint64_t tmpfs_bytes) {
    if (tmpfs_bytes < kSmallTmpfs) return 0;
    const uint64_t share = tmpfs_bytes / kShareOfTmpfs;
    return share < kMostRingBytes ? static_cast<size_t>(share) : kMostRingBytes;
}

std::span<Ring> all_rings() { return {registry.rings, registry.used.load(std::memory_order_acquire)}; }

RingHeader* process_ring() { return registry.process_ring; }

bool is_orphan(const Ring& ring) {
    return !thread_lives(registry.settings.pid, ring.tid.load(std::memory_order_relaxed));
}

RingOwner owner_of(const RingHeader& header, uint64_t position) {
    // Acquire: with the count, the entries.
    uint64_t count = header.owner_count.load(std::memory_order_acquire);
    for (size_t looked_at = 0; count > 0 && looked_at < kOwners; --count, ++looked_at) {
        const RingOwner& owner = header.owners[(count - 1) % kOwners];
        if (owner.position <= position) return owner;
    }
    return {};
}

bool take_ring(ThreadState& thread) {
    const KeepErrno keep;
    Ring* ring = nullptr;
    thread.ring = nullptr;
    thread.poll_position = 0;
    if (!registry.starved.load(std::memory_order_relaxed)) {
        ring = spare_ring(0);
        if (ring == nullptr) ring = orphaned_ring();
        if (ring == nullptr) ring = make_ring(kSmallSlots, registry.settings.max_bytes);
    }
    if (ring != nullptr)
        return install(thread, *ring, registry.numbers.fetch_add(1, std::memory_order_relaxed) + 1);
    call_writer();
    return none_to_be_had();
}

void count_without_ring() {
    if (registry.process_ring != nullptr)
        registry.process_ring->dropped[static_cast<size_t>(Drop::no_ring)].fetch_add(
            1, std::memory_order_relaxed);
}

bool chain_ring(ThreadState& thread) {
    const KeepErrno keep;
    call_writer();
    while (!kept(Protection::drop_when_full) && is_full(thread, 1)) {
    }
    if (registry.starved.load(std::memory_order_relaxed)) return false;
    close_poll(thread);
    Ring* old = ring_of(thread.ring);
    Ring* next = spare_ring(kLargeSlots);
    if (next == nullptr) next = spare_ring(0);
    // Half of the budget is left for threads that have no ring yet.
    if (next == nullptr) next = make_ring(kSmallSlots, registry.settings.max_bytes / 2);
    if (old == nullptr || next == nullptr) return none_to_be_had();
    old->state.store(RingState::left, std::memory_order_release);
    return install(thread, *next, old->number.load(std::memory_order_relaxed));
}

void append_text(ThreadState& thread, const char* text, size_t length) {
    for (size_t done = 0; done < length; done += kTextBytes) {
        Slot* slot = open_slot(thread, kNoApi, EventKind::text, 0);
        if (slot == nullptr) return;
        memset(slot->word, 0, kTextBytes);
        memcpy(slot->word, text + done, length - done < kTextBytes ? length - done : kTextBytes);
        slot->exit = slot->enter;
        complete_slot(slot);
    }
}

// --- the writer's side ----------------------------------------------------------------------------------
namespace {

bool is_drained(const Ring& ring) {
    return ring.header->tail.load(std::memory_order_relaxed) ==
           ring.header->head.load(std::memory_order_acquire);
}

void make_spare(uint32_t slot_count) {
    if (Ring* ring = make_ring(slot_count, registry.settings.max_bytes))
        ring->state.store(RingState::spare, std::memory_order_release);
}

// Drained rings that nobody will write to again.
void collect(Ring& ring) {
    const RingState state = state_of(ring);
    if (state == RingState::left && is_drained(ring)) move(ring, RingState::left, RingState::spare);
    if (state != RingState::taken || !is_drained(ring) || !is_orphan(ring)) return;
    if (!move(ring, RingState::taken, RingState::adopting)) return;
    // Again: another thread may have had it in between.
    const bool free = is_orphan(ring) && is_drained(ring);
    ring.state.store(free ? RingState::spare : RingState::taken, std::memory_order_release);
}

}  // namespace

void make_first_ring() { make_spare(kSmallSlots); }

void care_for_rings(Spares wanted, bool may_shrink) {
    uint32_t spares = 0;
    bool has_large = false;
    for (Ring& ring : all_rings()) {
        const bool was_spare = state_of(ring) == RingState::spare;
        collect(ring);
        if (state_of(ring) != RingState::spare) continue;
        has_large = has_large || ring.header->slot_count >= kLargeSlots;
        if (++spares <= kSparesAtMost || !may_shrink) continue;
        // Not those that have just become spare: what they have lost is to be read first.
        if (was_spare && move(ring, RingState::spare, RingState::making)) unmake_ring(ring);
    }
    registry.starved.store(false, std::memory_order_relaxed);
    if (wanted == Spares::none) return;
    while (spares++ < kSparesKept) make_spare(kSmallSlots);
    if (wanted == Spares::large && !has_large) make_spare(kLargeSlots);
}

}  // namespace gpushim::shim
