#include "stream_uses.h"

#include <cstddef>
#include <span>

#include "event_pool.h"

namespace gpushim::shim {
namespace {

constexpr size_t kStreams = 4096;  // a power of two
constexpr size_t kNear = 16;       // places in which a stream may be
constexpr uint64_t kNobody = 0;
constexpr uint64_t kLegacy = 1ull << 63;  // no address of ours
constexpr uint64_t kPerThread = 3ull << 62;

constinit StreamUse all[kStreams] = {};

struct Uses {
    std::atomic<uint32_t> begun;
    std::atomic<uint32_t> over;
};
struct ContextUses {
    Uses legacy;  // stream
    Uses others;
    std::atomic<uint32_t> fences;  // that all streams were given, those that stand apart, too
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

// The holder has left its call without a word.
void end_lost_use(const StreamUse& use) {
    if (use.is_apart.load(std::memory_order_relaxed)) return;
    const bool is_legacy = use.key.load(std::memory_order_relaxed) >> 62 == kLegacy >> 62;
    end_use(use.context.load(std::memory_order_relaxed), is_legacy);
}

bool try_hold(StreamUse& use, uint64_t key, const ThreadState& thread) {
    const ThreadState* holder = nullptr;
    // Acquire: of what the last holder wrote.
    if (!use.holder.compare_exchange_strong(holder, &thread, std::memory_order_acquire)) {
        if (holder != &thread) return false;
        end_lost_use(use);
    }
    if (use.key.load(std::memory_order_relaxed) == key) return true;
    release(use);
    return false;
}

void give_to(StreamUse& use, uint64_t key, uint32_t context, bool is_apart) {
    use.context.store(context, std::memory_order_relaxed);
    use.is_apart.store(is_apart, std::memory_order_relaxed);
    use.end.store(kNoEvent, std::memory_order_relaxed);
    use.what.store(0, std::memory_order_relaxed);
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

Uses& uses_in(uint32_t context, bool is_legacy) {
    ContextUses& uses = contexts[context % 256];
    return is_legacy ? uses.legacy : uses.others;
}

void count_use(uint32_t context, bool is_legacy) {
    begin_use(context, is_legacy);
    end_use(context, is_legacy);
}

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

uint32_t known_context_of(uint64_t stream) {
    const StreamUse* use = find(stream);
    return use != nullptr ? use->context.load(std::memory_order_relaxed) : kNoContext;
}

StreamUse* hold(const StreamKey& key, const ThreadState& thread) {
    if (StreamUse* use = find(key.number); use != nullptr)
        return try_hold(*use, key.number, thread) ? use : nullptr;
    StreamUse* use = hold_new(key.number, thread);
    if (use != nullptr) give_to(*use, key.number, key.context, false);
    return use;
}

void release(StreamUse& use) { use.holder.store(nullptr, std::memory_order_release); }

void fence_stream(const StreamKey& key) {
    uint32_t context = key.context;
    if (StreamUse* use = find(key.number); use != nullptr) {
        use->uses.fetch_add(1, std::memory_order_relaxed);
        if (use->is_apart.load(std::memory_order_relaxed)) return;
        context = use->context.load(std::memory_order_relaxed);
    }
    if (context != kNoContext) count_use(context, key.is_legacy);
}

void fence_context(uint32_t context) {
    count_use(context, true);
    count_use(context, false);
    contexts[context % 256].fences.fetch_add(1, std::memory_order_relaxed);
}

uint32_t fences_of(uint32_t context) {
    return contexts[context % 256].fences.load(std::memory_order_relaxed);
}

uint32_t uses_of_others(uint32_t context, bool is_legacy) {
    return uses_in(context, !is_legacy).begun.load(std::memory_order_relaxed);
}

// Relaxed, all of these: what one thread's call does in the driver between two calls of another's is ordered
// with both by the driver.
bool are_others_used(uint32_t context, bool is_legacy) {
    const Uses& uses = uses_in(context, !is_legacy);
    return uses.begun.load(std::memory_order_relaxed) != uses.over.load(std::memory_order_relaxed);
}

void begin_use(uint32_t context, bool is_legacy) {
    uses_in(context, is_legacy).begun.fetch_add(1, std::memory_order_relaxed);
}

void end_use(uint32_t context, bool is_legacy) {
    uses_in(context, is_legacy).over.fetch_add(1, std::memory_order_relaxed);
}

void stream_is_born(uint64_t stream, uint32_t context, bool is_apart) {
    // Nothing of an earlier one that was destroyed unseen.
    stream_is_gone(stream);
    StreamUse* use = hold_new(stream, thread_state);
    if (use == nullptr) return;
    give_to(*use, stream, context, is_apart);
    release(*use);
}

void stream_is_gone(uint64_t stream) {
    for (size_t i = 0; i < kNear; ++i)
        if (near(stream, i).key.load(std::memory_order_relaxed) == stream)
            near(stream, i).key.store(kNobody, std::memory_order_relaxed);
}

void forget_streams() {
    // Nothing is there the first time; looking would take memory for all of them.
    static constinit bool is_first = true;
    for (StreamUse& use : is_first ? std::span<StreamUse>() : std::span(all)) {
        use.key.store(kNobody, std::memory_order_relaxed);
        use.holder.store(nullptr, std::memory_order_relaxed);
    }
    is_first = false;
    for (ContextUses& uses : contexts)
        for (Uses* of : {&uses.legacy, &uses.others}) of->over.store(of->begun.load());
}

}  // namespace gpushim::shim
