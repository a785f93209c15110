#include "fork_gate.h"

#include <pthread.h>

#include "system.h"

namespace gpushim::shim {
namespace {

constexpr int64_t kForkWaitNs = 20'000'000;
constexpr int64_t kLookAgainNs = 1'000'000'000;

void before_fork() {
    const KeepErrno keep;
    driver_gate.before_fork();
    nvml_gate.before_fork();
}

void after_fork_in_parent() {
    const KeepErrno keep;
    driver_gate.after_fork_in_parent();
    nvml_gate.after_fork_in_parent();
}

void after_fork_in_child() {
    driver_gate.after_fork_in_child();
    nvml_gate.after_fork_in_child();
}

}  // namespace

constinit ForkGate driver_gate, nvml_gate;

// Says that it is inside, then looks whether it may; forks and close do it the other way round: one of the
// two sees the other.
bool ForkGate::enter() {
    while (!closed_.load()) {
        inside_.store(1);
        const uint32_t forks = forks_.load();
        if (forks == 0 && !closed_.load()) return true;
        leave();
        if (forks != 0) wait_while(forks_, forks, kLookAgainNs);
    }
    return false;
}

void ForkGate::leave() {
    inside_.store(0);
    wake_all(inside_);
}

void ForkGate::close(int64_t most_ns) {
    closed_.store(true);
    wait_until_outside(most_ns);
}

void ForkGate::before_fork() {
    forks_.fetch_add(1);
    wait_until_outside(kForkWaitNs);
}

void ForkGate::after_fork_in_parent() {
    forks_.fetch_sub(1);
    wake_all(forks_);
}

void ForkGate::after_fork_in_child() {
    inside_.store(0);
    forks_.store(0);
}

void ForkGate::wait_until_outside(int64_t most_ns) {
    const int64_t until_ns = clock_ns(CLOCK_MONOTONIC) + most_ns;
    for (int64_t left_ns = most_ns; left_ns > 0 && inside_.load() != 0;
         left_ns = until_ns - clock_ns(CLOCK_MONOTONIC))
        wait_while(inside_, 1, left_ns);
}

void watch_forks() {
    static constinit std::atomic<bool> registered = false;
    if (!registered.exchange(true)) pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

}  // namespace gpushim::shim
