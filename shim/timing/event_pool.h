// Events of ours in one context: made by the writer's thread while nobody waits, taken by the program's
// threads, given back when their stamps are read. Taking is lock-free and never makes one: none left means
// that an operation goes untimed. Any thread, but for add(). Pools live as long as the process.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "../calls/driver_api.h"

namespace gpushim::shim {

constexpr uint32_t kNoEvent = 0;
constexpr uint32_t kMostEventsOfOurs = 32768;  // of one context
constexpr uint32_t kMostPools = 256;           // of one process, ever
constexpr uint32_t kMostSlips = 16;            // of one context: failures that are an operation's own matter

class EventPool {
  public:
    uint32_t take();  // kNoEvent: none left, or the pool is retired
    void give(uint32_t event);
    CUevent handle(uint32_t event) const;  // of one that was taken
    uint32_t made() const;                 // how many there are
    uint64_t turns() const;                // of takes and gives so far: whether anything goes on
    uint32_t misses() const;               // takes that found none; the writer makes more

    // How often the event was given back: whoever remembers an event sees by it that it is another's now.
    uint32_t lives(uint32_t event) const;
    uint32_t lives_by_now(uint32_t event);  // after everything that the caller has read so far

    // The writer's thread.
    bool add(CUevent event);  // false: full

    CUcontext context() const { return context_; }

    // Its context ends: nothing is taken any more.
    void retire();
    bool is_retired() const;
    // A call of ours has failed; the one that ends it counts, else the first, and the writer says it
    // (error()). That the driver has gone is none. The same as retire(), unless it is an operation's own
    // matter: a handle that is none any more, and that not again and again. True: the rest goes on.
    bool failed(const char* call, CUresult error);
    bool has_ended() const;           // by a failure
    CUresult error() const;           // CUDA_SUCCESS: none
    const char* failed_call() const;  // of error()

  private:
    struct Place {
        CUevent handle;
        std::atomic<uint32_t> next;
        std::atomic<uint32_t> lives;
    };
    void push(uint32_t event);

    std::atomic<uint64_t> top_;  // place | how often it changed << 32: a place that came back is another top
    std::atomic<uint32_t> made_;
    std::atomic<uint32_t> misses_;
    std::atomic<bool> retired_;
    std::atomic<const char*> failed_call_;
    std::atomic<uint32_t> error_;
    std::atomic<uint32_t> slips_;
    std::atomic<bool> has_ended_;  // by a failure
    Place* places_;
    CUcontext context_;
    friend EventPool* make_pool(uint32_t, CUcontext);
};

// The pool of a context by its number (contexts.h); null: none (yet). Any thread.
EventPool* pool_of(uint32_t context);

// The writer's thread: an empty pool, which threads find from now on. Null: no memory, or too many.
EventPool* make_pool(uint32_t context, CUcontext handle);

// Forgets all pools: in a process that was forked, before it has any of its own.
void forget_pools();

}  // namespace gpushim::shim
