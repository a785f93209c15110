#include "memory.h"

#include <sys/mman.h>

#include <map>
#include <vector>

#include "array.h"
#include "engine/box_state.h"
#include "ipc.h"
#include "pool.h"
#include "work.h"

namespace gpusim::driver {
namespace {

using Ranges = std::map<uintptr_t, MemoryRange>;

Ranges& ranges() {
    static auto* const made = new Ranges;  // programs free memory in their last exit handlers
    return *made;
}

// The first API version has 32-bit addresses; what it allocates lies below 4 GiB. Made when first needed.
Arena* low = nullptr;

Arena& low_arena() {
    constexpr size_t kLowBytes = 512u << 20;
    if (low == nullptr) low = new Arena(kLowBytes, Arena::Low::yes);
    return *low;
}

Arena& arena_of(const MemoryRange& range) {
    return range.origin == MemoryOrigin::low ? low_arena() : *device(range.device)->arena;
}

uintptr_t take(Device& on, Arena& arena, size_t size_bytes) {
    const auto bytes = static_cast<int64_t>(allocation_bytes(size_bytes));
    if (bytes <= 0 || !box::take_memory(on.ordinal, bytes)) return 0;
    const uintptr_t base = arena.allocate(size_bytes, 0);
    if (base == 0) box::return_memory(on.ordinal, bytes);
    return base;
}

uintptr_t allocate(Device& on, MemoryRange range) {
    if (range.size_bytes > static_cast<size_t>(INT64_MAX) / 2) return 0;
    Arena& arena = range.origin == MemoryOrigin::low ? low_arena() : *on.arena;
    uintptr_t base = take(on, arena, range.size_bytes);
    if (base == 0 && squeeze_pools(on)) base = take(on, arena, range.size_bytes);
    if (base == 0) return 0;
    range.base = base;
    range.device = on.ordinal;
    range.kind = MemoryKind::device;
    return add_range(range).base;
}

}  // namespace

MemoryRange* find_range(uintptr_t address) {
    const auto after = ranges().upper_bound(address);
    if (after == ranges().begin()) return nullptr;
    MemoryRange& range = std::prev(after)->second;
    return address < range.end() ? &range : nullptr;
}

bool is_device_address(uintptr_t address) {
    for (int ordinal = 0; ordinal < device_count(); ++ordinal)
        if (device(ordinal)->arena->contains(address)) return true;
    return low != nullptr && low->contains(address);
}

bool holds(const MemoryRange& range, uintptr_t address, size_t bytes) {
    if (range.holds(address, bytes)) return true;
    if (range.origin != MemoryOrigin::mapped || address < range.base || address >= range.end()) return false;
    const MemoryRange* next = find_range(range.end());
    const bool goes_on = next != nullptr && next->origin == MemoryOrigin::mapped;
    return goes_on && holds(*next, next->base, bytes - (range.end() - address));
}

MemoryRange& add_range(MemoryRange range) {
    static uint64_t last_id = 0;
    range.id = ++last_id;
    return ranges()[range.base] = range;
}

void remove_range(uintptr_t base) { ranges().erase(base); }

bool overlaps_range(uintptr_t base, size_t size_bytes) {
    const auto after = ranges().upper_bound(base);
    if (after != ranges().end() && after->first < base + size_bytes) return true;
    return after != ranges().begin() && std::prev(after)->second.end() > base;
}

uintptr_t allocate_device_memory(Context& context, size_t size_bytes) {
    MemoryRange range;
    range.origin = MemoryOrigin::device;
    range.context = &context;
    range.size_bytes = size_bytes;
    return allocate(*context.device, range);
}

uintptr_t allocate_low_memory(Context& context, size_t size_bytes) {
    MemoryRange range;
    range.origin = MemoryOrigin::low;
    range.context = &context;
    range.size_bytes = size_bytes;
    return allocate(*context.device, range);
}

uintptr_t allocate_on_device(Device& on, size_t size_bytes, MemoryOrigin origin, Pool* pool) {
    MemoryRange range;
    range.origin = origin;
    range.pool = pool;
    range.size_bytes = size_bytes;
    return allocate(on, range);
}

void free_block(const MemoryRange& range) {
    arena_of(range).free(range.base);
    box::return_memory(range.device, static_cast<int64_t>(allocation_bytes(range.size_bytes)));
}

void free_device_memory(uintptr_t base) {
    const MemoryRange* range = find_range(base);
    if (range == nullptr || range->base != base) return;
    free_block(*range);
    remove_range(base);
}

void release_range(uintptr_t base) {
    const MemoryRange* range = find_range(base);
    if (range == nullptr || range->base != base) return;
    switch (range->origin) {
        case MemoryOrigin::host:
        case MemoryOrigin::managed:
            munmap(reinterpret_cast<void*>(base), range->size_bytes);
            break;
        case MemoryOrigin::imported:
            unmap_imported(base);
            break;
        case MemoryOrigin::device:
        case MemoryOrigin::low:
        case MemoryOrigin::pool:
        case MemoryOrigin::graph:
            return free_device_memory(base);
        case MemoryOrigin::registered:
        case MemoryOrigin::mapped:
        case MemoryOrigin::none:
            break;
    }
    remove_range(base);
}

void release_context_memory(Context& context) {
    release_arrays(context);
    std::vector<uintptr_t> mine;
    for (const auto& [base, range] : ranges())
        if (range.context == &context) mine.push_back(base);
    for (const uintptr_t base : mine) release_range(base);
}

void wait_for_users(const MemoryRange& range, engine::Lock& held) {
    Point all;
    const bool of_all = range.kind == MemoryKind::pinned || range.kind == MemoryKind::managed;
    for (Context* context : contexts().all())
        if (of_all || context->device->ordinal == range.device) all.join(context_point(*context));
    engine::wait(all, held);
}

}  // namespace gpusim::driver
