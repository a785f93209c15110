#include "driver_thread.h"

#include <algorithm>

#include "../base/config.h"
#include "../base/fork_gate.h"
#include "../base/own_thread.h"
#include "../base/system.h"
#include "../hooks/in_call.h"

namespace gpushim::shim {
namespace {

constexpr int64_t kLookAgainNs = 60'000'000'000;

enum State : uint32_t { kIdle, kBusy, kLeaving, kGone };

// Plain data, never destroyed: a process may end while it works. A child has one of its own.
struct Desk {
    std::atomic<uint32_t> state;
    void (*work)(void*);
    void* argument;
    Desk* before;  // those of threads that were told to leave: they may still look at theirs
};
constinit Desk* desk = nullptr;
constinit Desk* newest = nullptr;

void work_until_told(Desk& own) {
    // As if it were inside a call of the driver: what the driver calls itself is nobody's event.
    InCall here;
    enter(here);
    thread_state.cuda_frame = &here;
    for (;;) {
        const uint32_t state = own.state.load();
        if (state == kLeaving) return;
        if (state == kIdle) {
            wait_while(own.state, kIdle, kLookAgainNs);
            continue;
        }
        driver_gate.enter();
        own.work(own.argument);
        driver_gate.leave();
        uint32_t busy = kBusy;
        own.state.compare_exchange_strong(busy, kIdle);
        wake_all(own.state);
    }
}

void main_of_driver_thread(void* given) {
    Desk& own = *static_cast<Desk*>(given);
    try {
        work_until_told(own);
    } catch (...) {
        // Out of memory: its work is never done, nobody waits for it, and nothing more is asked of it.
        driver_gate.leave();
        uint32_t busy = kBusy;
        own.state.compare_exchange_strong(busy, kGone);
        wake_all(own.state);
    }
}

}  // namespace

void start_driver_thread() {
    watch_forks();
    desk = newest = new Desk{kIdle, nullptr, nullptr, newest};
    if (start_own_thread({"gpushim", main_of_driver_thread, desk}) != 0) desk = nullptr;
}

bool give_to_driver_thread(void (*work)(void*), void* argument) {
    if (desk == nullptr || desk->state.load() != kIdle) return false;
    desk->work = work;
    desk->argument = argument;
    desk->state.store(kBusy);
    wake_all(desk->state);
    return true;
}

bool wait_for_driver_thread(Patience patience) {
    if (desk == nullptr) return true;
    const int64_t begun_ns = clock_ns(CLOCK_MONOTONIC);
    int64_t left_ns = patience.standstill_ns;
    while (desk->state.load() == kBusy && left_ns > 0) {
        wait_while(desk->state, kBusy, left_ns);
        const int64_t waited_ns = clock_ns(CLOCK_MONOTONIC) - begun_ns;
        left_ns = patience.standstill_ns - waited_ns;
        if (left_ns <= 0 && waited_ns < patience.most_ns && another_own_thread_is_runnable())
            left_ns = std::min(patience.standstill_ns, patience.most_ns - waited_ns);
    }
    const uint32_t state = desk->state.load();
    return state != kBusy && state != kGone;
}

void stop_driver_thread() {
    if (desk == nullptr) return;
    desk->state.store(kLeaving);
    wake_all(desk->state);
    desk = nullptr;
}

}  // namespace gpushim::shim
