#include "hardware_queues.h"

#include <atomic>
#include <cstring>

#include "../base/performance_variables.h"

namespace gpushim::shim {
namespace {

constexpr uint32_t kMostQueues = 32;  // as the driver has it

struct ContextStreams {
    std::atomic<uint64_t> window;  // that `streams` is of
    std::atomic<uint32_t> streams;
    std::atomic<uint32_t> looks;
    std::atomic<bool> shares;
    // The stream that is used most.
    std::atomic<uint64_t> most;
    std::atomic<uint32_t> most_uses;
};
// Contexts may share one: then they count as one.
constinit ContextStreams contexts[256] = {};
constinit uint32_t queues = kUsualQueues;
constinit std::atomic<Sharing> seen = Sharing::none_seen;
constinit std::atomic<bool> is_stopped = false;

uint32_t number_in(const char* text) {
    uint32_t number = 0;
    for (; *text >= '0' && *text <= '9' && number <= kMostQueues; ++text)
        number = number * 10 + static_cast<uint32_t>(*text - '0');
    return number >= 1 && number <= kMostQueues ? number : kUsualQueues;
}

// Relaxed, all of it: who is late decides by what was true a call ago.
uint32_t count_stream(ContextStreams& context, bool is_new, uint64_t window) {
    if (context.window.load(std::memory_order_relaxed) != window) {
        context.window.store(window, std::memory_order_relaxed);
        context.streams.store(0, std::memory_order_relaxed);
        // One that is not used any more is not in the way of others.
        context.most.store(0, std::memory_order_relaxed);
        context.most_uses.store(0, std::memory_order_relaxed);
    }
    if (!is_new) return context.streams.load(std::memory_order_relaxed);
    return context.streams.fetch_add(1, std::memory_order_relaxed) + 1;
}

bool is_used_most(ContextStreams& context, uint64_t stream, uint32_t number) {
    if (context.most.load(std::memory_order_relaxed) == stream) {
        context.most_uses.store(number, std::memory_order_relaxed);
        return true;
    }
    if (number <= context.most_uses.load(std::memory_order_relaxed)) return false;
    context.most.store(stream, std::memory_order_relaxed);
    context.most_uses.store(number, std::memory_order_relaxed);
    return true;
}

}  // namespace

void find_hardware_queues(std::span<const Variable> environment) {
    queues = kUsualQueues;
    for (const Variable& variable : environment)
        if (strcmp(variable.name, "CUDA_DEVICE_MAX_CONNECTIONS") == 0) queues = number_in(variable.value);
}

uint32_t hardware_queues() { return queues; }

bool may_get_events(uint32_t number_of_context, uint64_t stream, uint32_t number, bool is_new,
                    uint64_t window) {
    if (are_events_stopped()) return false;
    ContextStreams& context = contexts[number_of_context % 256];
    const uint32_t streams = count_stream(context, is_new, window);
    const bool is_most = is_used_most(context, stream, number);
    if (streams > (queues < kUsualQueues ? 1 : queues)) context.shares.store(true, std::memory_order_relaxed);
    if (context.shares.load(std::memory_order_relaxed)) {
        const bool may_one = queues > 1;
        seen.store(may_one ? Sharing::one_gets_events : Sharing::none_gets_events, std::memory_order_relaxed);
        return may_one && is_most;
    }
    return queues >= kUsualQueues || context.looks.load(std::memory_order_relaxed) >= kFirstLooks ||
           context.looks.fetch_add(1, std::memory_order_relaxed) >= kFirstLooks;
}

Sharing seen_sharing() { return seen.load(std::memory_order_relaxed); }

void stop_events() { is_stopped.store(true, std::memory_order_relaxed); }
bool are_events_stopped() { return is_stopped.load(std::memory_order_relaxed); }

void forget_hardware_queues() {
    is_stopped.store(false, std::memory_order_relaxed);
    for (ContextStreams& context : contexts) {
        context.streams.store(0, std::memory_order_relaxed);
        context.looks.store(0, std::memory_order_relaxed);
        context.shares.store(false, std::memory_order_relaxed);
        context.most.store(0, std::memory_order_relaxed);
        context.most_uses.store(0, std::memory_order_relaxed);
    }
    seen.store(Sharing::none_seen, std::memory_order_relaxed);
}

}  // namespace gpushim::shim
