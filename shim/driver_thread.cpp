#include "driver_thread.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>

#include <cerrno>

#include "hooks/thunk.h"
#include "system.h"

namespace gpushim::shim {
namespace {

constexpr size_t kStackBytes = 512 * 1024;
constexpr int64_t kLookAgainNs = 60'000'000'000;
constexpr int64_t kForkWaitNs = 20'000'000;
constexpr int64_t kForkTakesNs = 1'000'000'000;

enum State : uint32_t { kIdle, kBusy, kLeaving };

// Plain data, never destroyed: a process may end while it works. A child has one of its own.
struct Desk {
    std::atomic<uint32_t> state;
    void (*work)(void*);
    void* argument;
    pthread_mutex_t handing;
    Desk* before;  // those of threads that were told to leave: they may still look at theirs
};
constinit Desk* desk = nullptr;
constinit Desk* newest = nullptr;

// A child inherits the driver's locks as they are: while the process forks nothing of ours is in the driver.
constinit std::atomic<uint32_t> inside = 0;
constinit std::atomic<uint32_t> forks = 0;

void before_fork() {
    const KeepErrno keep;
    forks.fetch_add(1);
    const int64_t until_ns = clock_ns(CLOCK_MONOTONIC) + kForkWaitNs;
    for (int64_t left_ns = kForkWaitNs; left_ns > 0 && inside.load() != 0;
         left_ns = until_ns - clock_ns(CLOCK_MONOTONIC))
        wait_while(inside, 1, left_ns);
}

void after_fork_in_parent() {
    const KeepErrno keep;
    forks.fetch_sub(1);
    wake_all(forks);
}

void after_fork_in_child() {
    inside.store(0);
    forks.store(0);
}

void leave_driver() {
    inside.store(0);
    wake_all(inside);
}

// Says that it is inside, then looks whether it may; a fork does it the other way round: one sees the other.
void enter_driver() {
    for (;;) {
        inside.store(1);
        const uint32_t under_way = forks.load();
        if (under_way == 0) return;
        leave_driver();
        wait_while(forks, under_way, kForkTakesNs);
    }
}

// Called by who gives, before it says so, and by who takes, after it has seen it: sanitizers of a host know
// locks, and not our atomics.
void hand_over(Desk& of) {
    pthread_mutex_lock(&of.handing);
    pthread_mutex_unlock(&of.handing);
}

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
        hand_over(own);
        enter_driver();
        own.work(own.argument);
        leave_driver();
        hand_over(own);
        uint32_t busy = kBusy;
        own.state.compare_exchange_strong(busy, kIdle);
        wake_all(own.state);
    }
}

void* main_of_driver_thread(void* given) {
    prctl(PR_SET_NAME, "gpushim");
    try {
        work_until_told(*static_cast<Desk*>(given));
    } catch (...) {
        // Out of memory: it stays busy for ever, and nothing more is asked of it.
        leave_driver();
    }
    return nullptr;
}

int create_thread(Desk* argument, size_t stack_bytes) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    if (stack_bytes != 0) pthread_attr_setstacksize(&attributes, stack_bytes);
    pthread_t thread;
    const int error = pthread_create(&thread, &attributes, main_of_driver_thread, argument);
    pthread_attr_destroy(&attributes);
    return error;
}

}  // namespace

void start_driver_thread() {
    static constinit std::atomic<bool> registered = false;
    if (!registered.exchange(true)) pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    desk = newest = new Desk{kIdle, nullptr, nullptr, PTHREAD_MUTEX_INITIALIZER, newest};
    // Deaf to signals, as the writer.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = create_thread(desk, kStackBytes);
    // Thread-local storage counts as stack, and some hosts have a lot of it.
    if (error == EINVAL) error = create_thread(desk, 0);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (error != 0) desk = nullptr;
}

bool give_to_driver_thread(void (*work)(void*), void* argument) {
    if (desk == nullptr || desk->state.load() != kIdle) return false;
    desk->work = work;
    desk->argument = argument;
    hand_over(*desk);
    desk->state.store(kBusy);
    wake_all(desk->state);
    return true;
}

bool wait_for_driver_thread(int64_t most_ns) {
    if (desk == nullptr) return true;
    const int64_t until_ns = clock_ns(CLOCK_MONOTONIC) + most_ns;
    while (desk->state.load() == kBusy && most_ns > 0) {
        wait_while(desk->state, kBusy, most_ns);
        most_ns = until_ns - clock_ns(CLOCK_MONOTONIC);
    }
    if (desk->state.load() == kBusy) return false;
    hand_over(*desk);
    return true;
}

void stop_driver_thread() {
    if (desk == nullptr) return;
    desk->state.store(kLeaving);
    wake_all(desk->state);
    desk = nullptr;
}

}  // namespace gpushim::shim
