#include "contexts.h"

#include <atomic>
#include <cstddef>

#include "../ring/process_state.h"
#include "../ring/test_clock.h"

namespace gpushim::shim {
namespace {

constexpr size_t kContexts = 1024;  // a power of two

// Open addressing. A handle stays where it was first put, and its number changes with its lives. 0: none yet.
constexpr uint32_t kGone = UINT32_MAX;
struct Entry {
    std::atomic<uint64_t> handle;
    std::atomic<uint32_t> number;
};
constinit Entry entries[kContexts] = {};
constinit std::atomic<uint32_t> last_number = 0;

// Handles are addresses: their low bits are all the same.
size_t first_place(uint64_t handle) { return (handle * 0x9e3779b97f4a7c15) >> 54; }

Entry* entry_of_handle(uint64_t handle, bool add) {
    for (size_t i = 0; i < kContexts; ++i) {
        Entry& entry = entries[(first_place(handle) + i) % kContexts];
        uint64_t there = entry.handle.load(std::memory_order_acquire);
        if (there == handle) return &entry;
        if (there != 0) continue;
        if (!add) return nullptr;
        if (entry.handle.compare_exchange_strong(there, handle, std::memory_order_acq_rel)) return &entry;
        if (there == handle) return &entry;
    }
    return nullptr;
}

}  // namespace

uint32_t context_number(uint64_t handle) {
    if (handle == 0) return 0;
    Entry* entry = entry_of_handle(handle, true);
    if (entry == nullptr) return 0;
    uint32_t number = entry->number.load(std::memory_order_acquire);
    if (number != 0) return number != kGone ? number : 0;
    const uint32_t next = last_number.fetch_add(1, std::memory_order_relaxed) + 1;
    // Two threads at once: the first one's number counts.
    if (!entry->number.compare_exchange_strong(number, next, std::memory_order_acq_rel)) return number;
    // It makes events there before the first operation, if it can be.
    if (is_written()) call_writer();
    return next;
}

uint32_t known_context_number(uint64_t handle) {
    const Entry* entry = handle != 0 ? entry_of_handle(handle, false) : nullptr;
    const uint32_t number = entry != nullptr ? entry->number.load(std::memory_order_acquire) : 0;
    return number != kGone ? number : 0;
}

void context_is_born(uint64_t handle) {
    Entry* entry = handle != 0 ? entry_of_handle(handle, false) : nullptr;
    uint32_t gone = kGone;
    if (entry != nullptr) entry->number.compare_exchange_strong(gone, 0, std::memory_order_acq_rel);
}

void context_gone(uint64_t handle) {
    Entry* entry = handle != 0 ? entry_of_handle(handle, false) : nullptr;
    if (entry != nullptr) entry->number.store(kGone, std::memory_order_release);
}

size_t numbered_contexts(NumberedContext* contexts, size_t most) {
    size_t count = 0;
    for (size_t i = 0; i < kContexts && count < most; ++i) {
        const uint32_t number = entries[i].number.load(std::memory_order_acquire);
        if (number != 0 && number != kGone)
            contexts[count++] = {entries[i].handle.load(std::memory_order_relaxed), number};
    }
    return count;
}

}  // namespace gpushim::shim
