#include "event_pool.h"

#include <sys/mman.h>

namespace gpushim::shim {
namespace {

struct Entry {
    std::atomic<uint32_t> context;  // stored last; 0: free
    std::atomic<EventPool*> pool;
};
// In the order of their making; none is ever taken out, so nobody holds one that is gone.
constinit Entry entries[kMostPools] = {};
constinit std::atomic<uint32_t> entry_count = 0;

constexpr uint64_t kOneChange = 1ull << 32;

void* zeroed_memory(size_t bytes) {
    void* memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory != MAP_FAILED ? memory : nullptr;
}

}  // namespace

uint32_t EventPool::take() {
    // Relaxed: who comes a moment too late is kept out of the context's end elsewhere (context_visits.h).
    if (retired_.load(std::memory_order_relaxed)) return kNoEvent;
    // Acquire: with the place, the handle and the next one, which were stored before it became the top.
    uint64_t top = top_.load(std::memory_order_acquire);
    for (;;) {
        const auto place = static_cast<uint32_t>(top);
        if (place == kNoEvent) break;
        // May be of another life of the place by now; then the top has changed, too.
        const uint32_t next = places_[place].next.load(std::memory_order_relaxed);
        const uint64_t below = ((top & ~(kOneChange - 1)) + kOneChange) | next;
        if (top_.compare_exchange_weak(top, below, std::memory_order_acquire, std::memory_order_acquire))
            return place;
    }
    misses_.fetch_add(1, std::memory_order_relaxed);
    return kNoEvent;
}

void EventPool::push(uint32_t event) {
    uint64_t top = top_.load(std::memory_order_relaxed);
    uint64_t above;
    do {
        places_[event].next.store(static_cast<uint32_t>(top), std::memory_order_relaxed);
        above = ((top & ~(kOneChange - 1)) + kOneChange) | event;
        // Release: of the place, for whoever takes it.
    } while (!top_.compare_exchange_weak(top, above, std::memory_order_release, std::memory_order_relaxed));
}

uint64_t EventPool::turns() const { return top_.load(std::memory_order_relaxed) / kOneChange; }

void EventPool::give(uint32_t event) {
    if (event == kNoEvent) return;
    // Before it can be taken again: who sees that the life is the same knows that the event was.
    places_[event].lives.fetch_add(1, std::memory_order_acq_rel);
    push(event);
}

CUevent EventPool::handle(uint32_t event) const { return places_[event].handle; }
uint32_t EventPool::lives(uint32_t event) const {
    return places_[event].lives.load(std::memory_order_acquire);
}
uint32_t EventPool::lives_by_now(uint32_t event) {
    // An exchange, not a load: what was read before it was read before it.
    return places_[event].lives.fetch_add(0, std::memory_order_acq_rel);
}
uint32_t EventPool::made() const { return made_.load(std::memory_order_relaxed); }
uint32_t EventPool::misses() const { return misses_.load(std::memory_order_relaxed); }

bool EventPool::add(CUevent event) {
    const uint32_t place = made_.load(std::memory_order_relaxed) + 1;
    if (place > kMostEventsOfOurs) return false;
    places_[place].handle = event;
    made_.store(place, std::memory_order_relaxed);
    push(place);
    return true;
}

void EventPool::retire() { retired_.store(true, std::memory_order_relaxed); }
bool EventPool::is_retired() const { return retired_.load(std::memory_order_relaxed); }

bool EventPool::failed(const char* call, CUresult error) {
    // Of a stream whose capture something has spoiled, or of the legacy stream beside one: the program hears
    // the same of each of its operations there.
    if (error == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED || error == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)
        return true;
    const bool goes_on =
        error == CUDA_ERROR_INVALID_HANDLE && slips_.fetch_add(1, std::memory_order_relaxed) < kMostSlips;
    if (!goes_on) retire();
    // The driver has gone with the process: no failure.
    if (error == CUDA_ERROR_DEINITIALIZED) return false;
    const char* none = nullptr;
    const bool is_first = failed_call_.compare_exchange_strong(none, call, std::memory_order_relaxed);
    if (goes_on ? !is_first : has_ended_.exchange(true, std::memory_order_relaxed)) return goes_on;
    failed_call_.store(call, std::memory_order_relaxed);
    // Release: with the name of the call.
    error_.store(static_cast<uint32_t>(error), std::memory_order_release);
    return goes_on;
}

bool EventPool::has_ended() const { return has_ended_.load(std::memory_order_relaxed); }
CUresult EventPool::error() const { return static_cast<CUresult>(error_.load(std::memory_order_acquire)); }
const char* EventPool::failed_call() const { return failed_call_.load(std::memory_order_relaxed); }

EventPool* pool_of(uint32_t context) {
    if (context == 0) return nullptr;
    const uint32_t count = entry_count.load(std::memory_order_acquire);
    // The newest first: of many that there were, few live.
    for (uint32_t i = count; i-- > 0;)
        if (entries[i].context.load(std::memory_order_acquire) == context)
            return entries[i].pool.load(std::memory_order_relaxed);
    return nullptr;
}

EventPool* make_pool(uint32_t context, CUcontext handle) {
    const uint32_t index = entry_count.load(std::memory_order_relaxed);
    if (context == 0 || index == kMostPools) return nullptr;
    auto* pool = static_cast<EventPool*>(zeroed_memory(sizeof(EventPool)));
    // Only what is used of it is ever there; zeros are what its members begin with.
    void* places = zeroed_memory(sizeof(EventPool::Place) * (kMostEventsOfOurs + 1));
    if (pool == nullptr || places == nullptr) return nullptr;
    pool->places_ = static_cast<EventPool::Place*>(places);
    pool->context_ = handle;
    entries[index].pool.store(pool, std::memory_order_relaxed);
    entries[index].context.store(context, std::memory_order_release);
    entry_count.store(index + 1, std::memory_order_release);
    return pool;
}

void forget_pools() {
    entry_count.store(0, std::memory_order_relaxed);
    for (Entry& entry : entries) entry.context.store(0, std::memory_order_relaxed);
}

}  // namespace gpushim::shim
