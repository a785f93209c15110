#include "own_thread.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <new>

#include "protection.h"
#include "thread_sanitizer.h"

namespace gpushim::shim {
namespace {

// What a thread is started with stays: who only waits would get memory of the allocator's own for it by
// giving it back. A process starts a few.
struct Handed {
    OwnThread thread;
    Handed* before;
};
constinit std::atomic<Handed*> newest = nullptr;  // so that none is lost to who looks for leaks

void* main_of(void* given) {
    const OwnThread thread = static_cast<const Handed*>(given)->thread;
    prctl(PR_SET_NAME, thread.name);
    const Unjudged unjudged;
    thread.main(thread.argument);
    return nullptr;
}

int create(Handed* of, size_t stack_bytes) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    if (stack_bytes != 0) pthread_attr_setstacksize(&attributes, stack_bytes);
    pthread_t thread;
    const int error = pthread_create(&thread, &attributes, main_of, of);
    pthread_attr_destroy(&attributes);
    return error;
}

void keep(Handed* handed) {
    while (!newest.compare_exchange_weak(handed->before, handed)) {
    }
}

}  // namespace

// Its signals are the program's business: a thread inherits what is blocked.
int start_own_thread(const OwnThread& thread) {
    std::unique_ptr<Handed> handed(new (std::nothrow) Handed{thread, newest.load()});
    if (handed == nullptr) return ENOMEM;
    sigset_t all;
    sigset_t before;
    kept(Protection::blocked_signals) ? sigfillset(&all) : sigemptyset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = create(handed.get(), thread.stack_bytes);
    // Thread-local storage counts as stack, and some hosts have a lot of it.
    if (error == EINVAL) error = create(handed.get(), 0);
    if (error == 0) keep(handed.release());
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return error;
}

}  // namespace gpushim::shim
