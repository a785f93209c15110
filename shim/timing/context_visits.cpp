#include "context_visits.h"

#include <atomic>
#include <cstddef>

#include "../base/system.h"
#include "event_pool.h"

namespace gpushim::shim {
namespace {

constexpr int64_t kWaitNs = 100'000'000;
constexpr uint32_t kMostContexts = 4096;  // ever; those beyond have no device times
constexpr uint32_t kEnded = 1u << 31;
constexpr size_t kMostDevices = 64;

constinit std::atomic<uint32_t> visited = 0;  // the context that the writer is in; futex
constinit std::atomic<uint32_t> waiting = 0;
// Of each context: how many calls are under way that may end it; kEnded.
constinit std::atomic<uint32_t> ends[kMostContexts] = {};
constinit std::atomic<uint64_t> primary[kMostDevices] = {};
constinit std::atomic<uint32_t> waits = 0;
constinit std::atomic<uint32_t> given_up = 0;

bool is_counted(uint32_t context) { return context != 0 && context < kMostContexts; }

void wait_for_writer(uint32_t context) {
    waits.fetch_add(1, std::memory_order_relaxed);
    waiting.fetch_add(1);
    const int64_t until_ns = clock_ns(CLOCK_MONOTONIC) + kWaitNs;
    int64_t left_ns = kWaitNs;
    while (left_ns > 0 && visited.load() == context) {
        wait_while(visited, context, left_ns);
        left_ns = until_ns - clock_ns(CLOCK_MONOTONIC);
    }
    waiting.fetch_sub(1);
    if (left_ns <= 0) given_up.fetch_add(1, std::memory_order_relaxed);
}

bool is_device(CUdevice device) { return device >= 0 && static_cast<size_t>(device) < kMostDevices; }

}  // namespace

bool enter_context(uint32_t context) {
    // Both sides say what they do before they look at the other (sequentially consistent): at least one of
    // them sees it.
    visited.store(context);
    if (is_counted(context) && ends[context].load() == 0) return true;
    leave_context();
    return false;
}

void leave_context() {
    visited.store(0);
    if (waiting.load() != 0) wake_all(visited);
}

void context_is_ending(uint32_t context) {
    if (!is_counted(context)) return;
    ends[context].fetch_add(1);
    if (visited.load() != context) return;
    const KeepErrno keep;
    wait_for_writer(context);
}

void context_has_ended(uint32_t context, bool ended) {
    if (!is_counted(context)) return;
    if (ended) {
        ends[context].fetch_or(kEnded);
        if (EventPool* pool = pool_of(context); pool != nullptr) pool->retire();
    }
    ends[context].fetch_sub(1);
}

bool is_ended(uint32_t context) {
    // Relaxed: a thread may use what another has ended only in an order of the program's own making.
    return is_counted(context) && (ends[context].load(std::memory_order_relaxed) & kEnded) != 0;
}

void primary_context_is(CUdevice device, uint64_t handle) {
    if (is_device(device)) primary[device].store(handle, std::memory_order_relaxed);
}

uint64_t primary_context_of(CUdevice device) {
    return is_device(device) ? primary[device].load(std::memory_order_relaxed) : 0;
}

VisitCounts visit_counts() {
    return {waits.load(std::memory_order_relaxed), given_up.load(std::memory_order_relaxed)};
}

void forget_context_visits() {
    visited.store(0);
    waiting.store(0);
    for (auto& calls : ends) calls.store(0, std::memory_order_relaxed);
    for (auto& handle : primary) handle.store(0, std::memory_order_relaxed);
}

}  // namespace gpushim::shim
