#include "own_thread.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>

#include <cerrno>
#include <cstddef>
#include <memory>
#include <new>

#include "protection.h"
#include "thread_sanitizer.h"

namespace gpushim::shim {
namespace {

void* main_of(void* given) {
    const OwnThread thread = *std::unique_ptr<const OwnThread>(static_cast<const OwnThread*>(given));
    prctl(PR_SET_NAME, thread.name);
    const Unjudged unjudged;
    thread.main(thread.argument);
    return nullptr;
}

int create(const OwnThread* of, size_t stack_bytes) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    if (stack_bytes != 0) pthread_attr_setstacksize(&attributes, stack_bytes);
    pthread_t thread;
    const int error = pthread_create(&thread, &attributes, main_of, const_cast<OwnThread*>(of));
    pthread_attr_destroy(&attributes);
    return error;
}

}  // namespace

// Its signals are the program's business: a thread inherits what is blocked.
int start_own_thread(const OwnThread& thread) {
    std::unique_ptr<const OwnThread> handed(new (std::nothrow) OwnThread(thread));
    if (handed == nullptr) return ENOMEM;
    sigset_t all;
    sigset_t before;
    kept(Protection::blocked_signals) ? sigfillset(&all) : sigemptyset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = create(handed.get(), thread.stack_bytes);
    // Thread-local storage counts as stack, and some hosts have a lot of it.
    if (error == EINVAL) error = create(handed.get(), 0);
    if (error == 0) static_cast<void>(handed.release());
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return error;
}

}  // namespace gpushim::shim
