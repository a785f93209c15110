#include "nvml_gate.h"

#include <pthread.h>

#include <atomic>
#include <cstdlib>

#include "system.h"

namespace gpushim::shim {
namespace {

constexpr int64_t kForkWaitNs = 20'000'000;
constexpr int64_t kExitWaitNs = 100'000'000;
constexpr int64_t kLookAgainNs = 1'000'000'000;

constinit std::atomic<uint32_t> inside = 0;
constinit std::atomic<uint32_t> closed = 0;  // forks under way
constinit std::atomic<bool> over = false;

// The thread first says that it is inside, then looks whether it may; these do it the other way round: one of
// the two sees the other.
void wait_until_outside(int64_t most_ns) {
    const int64_t until_ns = clock_ns(CLOCK_MONOTONIC) + most_ns;
    for (int64_t left_ns = most_ns; left_ns > 0 && inside.load() != 0;
         left_ns = until_ns - clock_ns(CLOCK_MONOTONIC))
        wait_while(inside, 1, left_ns);
}

void before_fork() {
    const KeepErrno keep;
    closed.fetch_add(1);
    wait_until_outside(kForkWaitNs);
}

void after_fork_in_parent() {
    const KeepErrno keep;
    closed.fetch_sub(1);
    wake_all(closed);
}

// The thread is not in the child.
void after_fork_in_child() {
    inside.store(0);
    closed.store(0);
}

void at_exit() {
    const KeepErrno keep;
    over.store(true);
    wait_until_outside(kExitWaitNs);
}

void leave() {
    inside.store(0);
    wake_all(inside);
}

}  // namespace

void open_gate() {
    static constinit std::atomic<bool> registered = false;
    if (!registered.exchange(true)) pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

void arm_gate() {
    static constinit std::atomic<bool> registered = false;
    if (!registered.exchange(true)) atexit(at_exit);
}

bool enter_gate() {
    while (!over.load()) {
        inside.store(1);
        const uint32_t forks = closed.load();
        if (forks == 0 && !over.load()) return true;
        leave();
        if (forks != 0) wait_while(closed, forks, kLookAgainNs);
    }
    return false;
}

void leave_gate() { leave(); }

}  // namespace gpushim::shim
