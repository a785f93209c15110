#include "own_thread.h"
#include "protection.h"

#include <pthread.h>
#include <signal.h>

#include <cerrno>
#include <cstddef>

namespace gpushim::shim {
namespace {

int create(void* (*main)(void*), void* argument, size_t stack_bytes) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    if (stack_bytes != 0) pthread_attr_setstacksize(&attributes, stack_bytes);
    pthread_t thread;
    const int error = pthread_create(&thread, &attributes, main, argument);
    pthread_attr_destroy(&attributes);
    return error;
}

}  // namespace

// Its signals are the program's business: a thread inherits what is blocked.
int start_own_thread(void* (*main)(void*), void* argument, size_t stack_bytes) {
    sigset_t all;
    sigset_t before;
    kept(Protection::blocked_signals) ? sigfillset(&all) : sigemptyset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = create(main, argument, stack_bytes);
    // Thread-local storage counts as stack, and some hosts have a lot of it.
    if (error == EINVAL) error = create(main, argument, 0);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return error;
}

}  // namespace gpushim::shim
