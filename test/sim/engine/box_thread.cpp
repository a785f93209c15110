#include "box_thread.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>

namespace gpusim {

bool start_box_thread(const char* name, void (*run)()) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    const int failed = pthread_create(
        &thread, nullptr,
        [](void* body) -> void* {
            reinterpret_cast<void (*)()>(body)();
            return nullptr;
        },
        reinterpret_cast<void*>(run));
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (failed != 0) {
        std::fprintf(stderr, "gpusim: no thread for %s\n", name);
        std::_Exit(2);
    }
    pthread_setname_np(thread, name);
    pthread_detach(thread);
    return true;
}

void WakeWord::wake() {
    word_.fetch_add(1);  // sequentially consistent with the waiter's count: one of the two sees the other
    if (waiters_.load() > 0) syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

void WakeWord::wait(uint32_t seen, Ns at_most_ns) {
    const timespec limit{at_most_ns / 1'000'000'000, at_most_ns % 1'000'000'000};
    waiters_.fetch_add(1);
    syscall(SYS_futex, &word_, FUTEX_WAIT_PRIVATE, seen, at_most_ns > 0 ? &limit : nullptr, nullptr, 0);
    waiters_.fetch_sub(1);
}

}  // namespace gpusim
