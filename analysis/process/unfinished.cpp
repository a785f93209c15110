#include "unfinished.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>

namespace gpushim::analysis {

namespace {

constexpr int kEnds[] = {SIGINT, SIGTERM, SIGHUP};

sigset_t ends() {
    sigset_t set;
    sigemptyset(&set);
    for (const int number : kEnds) sigaddset(&set, number);
    return set;
}

// Held while the list changes, and by the handler for good: then nothing new is made. A thread that holds it
// has the signals blocked, so the handler never waits for the thread that it interrupted.
std::atomic_flag g_changing = ATOMIC_FLAG_INIT;
pid_t g_owner = 0;  // of the list

void lock() {
    while (g_changing.test_and_set(std::memory_order_acquire)) usleep(50);
}

struct Change {
    Change() {
        const sigset_t set = ends();
        pthread_sigmask(SIG_BLOCK, &set, &before_);
        lock();
    }
    ~Change() {
        g_changing.clear(std::memory_order_release);
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
    sigset_t before_;
};

// What getdents64 fills in; libc declares it nowhere, and its readdir may not be called in a handler.
struct Entry {
    uint64_t inode;
    int64_t next;
    uint16_t bytes;
    uint8_t kind;
    char name[1];
};

// For a handler: system calls only.
void remove_now(const char* path) {
    if (unlink(path) == 0 || (errno != EISDIR && errno != EPERM)) return;
    const int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0) return;
    alignas(Entry) char entries[4096];
    for (bool again = true; again;) {  // from the beginning: what was removed may have moved the others
        again = false;
        lseek(folder, 0, SEEK_SET);
        for (long got; (got = syscall(SYS_getdents64, folder, entries, sizeof entries)) > 0;)
            for (long at = 0; at < got;) {
                const auto* entry = reinterpret_cast<const Entry*>(entries + at);
                at += entry->bytes;
                again |= unlinkat(folder, entry->name, 0) == 0;
            }
    }
    close(folder);
    rmdir(path);
}

}  // namespace

struct UnfinishedList {
    static inline Unfinished* first = nullptr;

    static void remove_all() {
        lock();
        for (const Unfinished* one = first; one != nullptr; one = one->next_) remove_now(one->path_.c_str());
    }
    static void add(Unfinished& one) {
        one.next_ = first;
        if (first != nullptr) first->before_ = &one;
        first = &one;
    }
    static void cross_off(Unfinished& one) {
        (one.before_ != nullptr ? one.before_->next_ : first) = one.next_;
        if (one.next_ != nullptr) one.next_->before_ = one.before_;
    }
};

namespace {

void end(int number) {
    if (getpid() == g_owner) UnfinishedList::remove_all();
    signal(number, SIG_DFL);
    kill(getpid(), number);  // it comes when this returns, if no other thread takes it before
}

// A signal that we were started to ignore (nohup) stays ignored.
void take_signals() {
    if (g_owner == getpid()) return;
    g_owner = getpid();
    UnfinishedList::first = nullptr;  // in a child: these are its parent's
    for (const int number : kEnds) {
        struct sigaction now;
        if (sigaction(number, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) continue;
        struct sigaction ours = {};
        ours.sa_handler = end;
        ours.sa_mask = ends();
        sigaction(number, &ours, nullptr);  // fails for no signal of these
    }
}

}  // namespace

Unfinished::Unfinished(const std::function<std::string()>& make) {
    const Change change;
    take_signals();
    owner_ = g_owner;
    path_ = make();
    if (!path_.empty()) UnfinishedList::add(*this);
}

Unfinished::~Unfinished() {
    if (path_.empty() || owner_ != getpid()) return;
    const Change change;
    UnfinishedList::cross_off(*this);
    std::error_code ignored;  // what is left harms nobody
    std::filesystem::remove_all(path_, ignored);
}

}  // namespace gpushim::analysis
