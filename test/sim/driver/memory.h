// All memory the driver knows: which address belongs to which allocation, and of what kind it is. Whatever no
// range holds is pageable host memory. Everything here is used under engine::lock().
#pragma once

#include <cstddef>
#include <cstdint>

#include "objects.h"

namespace gpusim::driver {

enum class MemoryKind { pageable, pinned, managed, device };

// Who made a range, and thereby who may free it.
enum class MemoryOrigin { none, device, low, host, registered, managed, pool, graph, imported, mapped };

struct MemoryRange {
    MemoryKind kind = MemoryKind::pageable;
    MemoryOrigin origin = MemoryOrigin::none;
    Context* context = nullptr;  // null: belongs to a device, not to a context (pools, mappings)
    int device = 0;
    uintptr_t base = 0;
    size_t size_bytes = 0;
    unsigned flags = 0;  // as given to the call that made it
    Pool* pool = nullptr;
    uint64_t id = 0;  // never used twice in this process
    bool sync_memops = false;

    uintptr_t end() const { return base + size_bytes; }
    bool holds(uintptr_t address, size_t bytes) const {
        return address >= base && address <= end() && bytes <= end() - address;
    }
};

// The range in which `address` lies; null: pageable memory, or nothing at all.
MemoryRange* find_range(uintptr_t address);
inline MemoryRange* find_range(const void* address) {
    return find_range(reinterpret_cast<uintptr_t>(address));
}
inline MemoryKind kind_of(uintptr_t address) {
    const MemoryRange* range = find_range(address);
    return range != nullptr ? range->kind : MemoryKind::pageable;
}

// Whether it lies where devices have their memory, allocated or not.
bool is_device_address(uintptr_t address);

// Whether [address, address + bytes) lies in the range, or goes on in mappings that follow it without a gap.
bool holds(const MemoryRange& range, uintptr_t address, size_t bytes);

MemoryRange& add_range(MemoryRange range);  // gives it its id
void remove_range(uintptr_t base);
bool overlaps_range(uintptr_t base, size_t size_bytes);

// Device memory of a context: in the device's arena, counted against what all processes hold. 0: out of
// memory.
uintptr_t allocate_device_memory(Context& context, size_t size_bytes);
uintptr_t allocate_low_memory(Context& context, size_t size_bytes);  // below 4 GiB
// The same without a context, for pools and graphs.
uintptr_t allocate_on_device(Device& on, size_t size_bytes, MemoryOrigin origin, Pool* pool);
void free_device_memory(uintptr_t base);
void free_block(const MemoryRange& range);  // of a range that is no longer (or not yet) known

// Lets the memory of a range go, whatever made it. The range is gone afterwards.
void release_range(uintptr_t base);

// A context ends: all that was allocated, registered or opened in it goes. Its work must be over.
void release_context_memory(Context& context);

// Blocks until all work that may use the range is over: its device's, or all where it is host memory.
void wait_for_users(const MemoryRange& range, engine::Lock& held);

}  // namespace gpusim::driver
