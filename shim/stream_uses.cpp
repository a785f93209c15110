#include "stream_uses.h"

#include <cstddef>

#include "event_pool.h"

namespace gpushim::shim {
namespace {

constexpr size_t kStreams = 4096;  // a power of two
constexpr size_t kNear = 16;       // places in which a stream may be
constexpr uint64_t kNobody = 0;
constexpr uint64_t kLegacy = 1ull << 63;  // no address of ours
constexpr uint64_t kPerThread = 3ull << 62;

constinit StreamUse all[kStreams] = {};

struct ContextUses {
    std::atomic<uint32_t> legacy;  // stream
    std::atomic<uint32_t> others;
};
// Contexts may share one: then a start event more is recorded than is needed.
constinit ContextUses contexts[256] = {};

StreamUse& near(uint64_t key, size_t i) {
    const size_t first = (key * 0x9e3779b97f4a7c15) >> 52;
    return all[(first + i) % kStreams];
}

StreamUse* find(uint64_t key) {
    for (size_t i = 0; i < kNear; ++i)
        if (near(key, i).key.load(std::memory_order_acquire) == key) return &near(key, i);
    return nullptr;
}

bool try_hold(StreamUse& use, uint64_t key, const ThreadState& thread) {
    const ThreadState* nobody = nullptr;
    // Acquire: of what the last holder wrote. That this thread holds it already means that it left the call
    // without a word.
    if (!use.holder.compare_exchange_strong(nobody, &thread, std::memory_order_acquire) && nobody != &thread)
        return false;
    if (use.key.load(std::memory_order_relaxed) == key) return true;
    release(use);
    return false;
}

void give_to(StreamUse& use, uint64_t key, uint32_t context) {
    use.context.store(context, std::memory_order_relaxed);
    use.end.store(kNoEvent, std::memory_order_relaxed);
    use.key.store(key, std::memory_order_release);
}

// A place of nobody's, else of one that nobody is using right now. Threads that look for the same stream at
// once may give it two: the farther one is never found again.
StreamUse* hold_new(uint64_t key, const ThreadState& thread) {
    for (size_t i = 0; i < kNear; ++i)
        if (try_hold(near(key, i), kNobody, thread)) return &near(key, i);
    for (size_t i = 0; i < kNear; ++i) {
        StreamUse& use = near(key, i);
        if (try_hold(use, use.key.load(std::memory_order_relaxed), thread)) return &use;
    }
    return nullptr;
}

uint32_t number_of(const ThreadState& thread) {
    if (thread.ring == nullptr) return 0;
    const RingHeader& ring = *thread.ring;
    const uint64_t count = ring.owner_count.load(std::memory_order_relaxed);
    return count != 0 ? ring.owners[(count - 1) % kOwners].number : 0;
}

ContextUses& uses_in(uint32_t context) { return contexts[context % 256]; }

}  // namespace

StreamKey key_of(const ThreadState& thread, uint64_t stream, bool per_thread) {
    constexpr uint64_t kLegacyHandle = 1, kPerThreadHandle = 2;  // CU_STREAM_LEGACY, CU_STREAM_PER_THREAD
    if (stream > kPerThreadHandle) return {stream, kNoContext, false};
    if (stream == kPerThreadHandle || (stream == 0 && per_thread))
        return {kPerThread | uint64_t{number_of(thread)} << 24 | (thread.context & 0xffffff), thread.context,
                false};
    static_assert(kLegacyHandle < kPerThreadHandle);
    return {kLegacy | thread.context, thread.context, true};
}

StreamUse* hold(const StreamKey& key, const ThreadState& thread) {
    if (StreamUse* use = find(key.number); use != nullptr)
        return try_hold(*use, key.number, thread) ? use : nullptr;
    StreamUse* use = hold_new(key.number, thread);
    if (use != nullptr) give_to(*use, key.number, key.context);
    return use;
}

void release(StreamUse& use) { use.holder.store(nullptr, std::memory_order_release); }

void fence_stream(const StreamKey& key) {
    uint32_t context = key.context;
    if (StreamUse* use = find(key.number); use != nullptr) {
        use->uses.fetch_add(1, std::memory_order_relaxed);
        context = use->context.load(std::memory_order_relaxed);
    }
    if (context != kNoContext) count_use(context, key.is_legacy);
}

void fence_context(uint32_t context) {
    count_use(context, true);
    count_use(context, false);
}

uint32_t uses_of_others(uint32_t context, bool is_legacy) {
    const ContextUses& uses = uses_in(context);
    return (is_legacy ? uses.others : uses.legacy).load(std::memory_order_relaxed);
}

void count_use(uint32_t context, bool is_legacy) {
    ContextUses& uses = uses_in(context);
    (is_legacy ? uses.legacy : uses.others).fetch_add(1, std::memory_order_relaxed);
}

void stream_is_born(uint64_t stream, uint32_t context) {
    // Nothing of an earlier one that was destroyed unseen.
    stream_is_gone(stream);
    StreamUse* use = hold_new(stream, thread_state);
    if (use == nullptr) return;
    give_to(*use, stream, context);
    release(*use);
}

void stream_is_gone(uint64_t stream) {
    for (size_t i = 0; i < kNear; ++i)
        if (near(stream, i).key.load(std::memory_order_relaxed) == stream)
            near(stream, i).key.store(kNobody, std::memory_order_relaxed);
}

void forget_streams() {
    for (StreamUse& use : all) {
        use.key.store(kNobody, std::memory_order_relaxed);
        use.holder.store(nullptr, std::memory_order_relaxed);
    }
}

}  // namespace gpushim::shim
