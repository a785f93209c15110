// Texts that a program hands to NVTX once and refers to from then on: names of domains, registered strings.
// A table in static memory, of which only what is used is ever touched; an entry stays for good, so that what
// was made before recording began, or before a fork, is still known. The same text is the same entry. Any
// thread; no lock, no allocation.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace gpushim::shim {

struct NvtxText {
    const char* bytes;
    size_t length;
};

template <size_t kEntries, size_t kBytes>
class NvtxTexts {
  public:
    static constexpr size_t kNone = kEntries;  // the table is full
    static constexpr size_t kLongest = kBytes;

    // The text's entry, made if there is none; of a text that is too long, its beginning.
    size_t index_of(NvtxText text) {
        if (text.length > kBytes) text.length = kBytes;
        const uint64_t hash = hash_of(text);
        for (size_t i = 0; i < kEntries; ++i) {
            const size_t index = (hash + i) % kEntries;
            if (is(entries_[index], text)) return index;
        }
        return kNone;
    }

    // What the program keeps for an entry, and back; kNone where it is none of ours.
    void* handle(size_t index) { return index < kEntries ? &entries_[index] : nullptr; }
    size_t index_of_handle(const void* handle) const {
        const auto offset = reinterpret_cast<uintptr_t>(handle) - reinterpret_cast<uintptr_t>(entries_);
        const size_t index = offset / sizeof(Entry);
        if (index >= kEntries || offset % sizeof(Entry) != 0) return kNone;
        // Acquire: with the state, the text.
        return entries_[index].state.load(std::memory_order_acquire) == kReady ? index : kNone;
    }
    NvtxText text(size_t index) const { return {entries_[index].bytes, entries_[index].length}; }

  private:
    enum : uint32_t { kFree, kFilling, kReady };
    struct Entry {
        std::atomic<uint32_t> state;
        uint32_t length;
        char bytes[kBytes];
    };
    static constexpr int kPatience = 1000;  // looks at one that another thread is filling

    static uint64_t hash_of(NvtxText text) {
        uint64_t hash = 0xcbf29ce484222325;
        for (size_t i = 0; i < text.length; ++i)
            hash = (hash ^ static_cast<unsigned char>(text.bytes[i])) * 0x100000001b3;
        return hash;
    }

    // Whether the entry has the text, or could be given it.
    static bool is(Entry& entry, NvtxText text) {
        uint32_t state = kFree;
        if (entry.state.compare_exchange_strong(state, kFilling, std::memory_order_acquire)) {
            if (text.length != 0) memcpy(entry.bytes, text.bytes, text.length);
            entry.length = static_cast<uint32_t>(text.length);
            entry.state.store(kReady, std::memory_order_release);
            return true;
        }
        // A thread that was forked away in the middle of it never comes back: then this entry is lost.
        for (int i = 0; state == kFilling && i < kPatience; ++i)
            state = entry.state.load(std::memory_order_acquire);
        return state == kReady && entry.length == text.length &&
               (text.length == 0 || memcmp(entry.bytes, text.bytes, text.length) == 0);
    }

    Entry entries_[kEntries] = {};
};

}  // namespace gpushim::shim
