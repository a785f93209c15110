#include "own_thread.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
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
    std::atomic<pid_t> tid = 0;
};
constinit std::atomic<Handed*> newest = nullptr;  // so that none is lost to who looks for leaks

void* main_of(void* given) {
    auto* const handed = static_cast<Handed*>(given);
    const OwnThread thread = handed->thread;
    handed->tid.store(gettid());
    prctl(PR_SET_NAME, thread.name);
    const Unjudged unjudged;
    thread.main(thread.argument);
    handed->tid.store(0);
    return nullptr;
}

// Of "tid (name) R …", as proc(5) has them; none: it was the parent's, and is not there.
char state_of(pid_t tid) {
    constexpr char kNotThere = '\0';
    char text[64];
    snprintf(text, sizeof text, "/proc/self/task/%d/stat", tid);
    const int file = open(text, O_RDONLY | O_CLOEXEC);
    if (file < 0) return kNotThere;
    const ssize_t size = read(file, text, sizeof text - 1);
    close(file);
    text[size > 0 ? size : 0] = '\0';
    const char* const end_of_name = strrchr(text, ')');
    return end_of_name != nullptr && end_of_name[1] == ' ' ? end_of_name[2] : kNotThere;
}

bool another_own_thread_is(const char* states) {
    const pid_t own = gettid();
    for (const Handed* handed = newest.load(); handed != nullptr; handed = handed->before) {
        const pid_t tid = handed->tid.load();
        if (tid == 0 || tid == own) continue;
        const char state = state_of(tid);
        if (state != '\0' && strchr(states, state) != nullptr) return true;
    }
    return false;
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

bool another_own_thread_is_runnable() { return another_own_thread_is("R"); }
// Or is stopped by a debugger.
bool another_own_thread_is_at_work() { return another_own_thread_is("RDt"); }

}  // namespace gpushim::shim
