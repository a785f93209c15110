// System calls that glibc wraps only in versions above our floor, or not at all. No allocation, errno as the
// kernel says. Any thread.
#pragma once

#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

namespace gpushim::shim {

inline int32_t thread_id() { return static_cast<int32_t>(syscall(SYS_gettid)); }

inline bool thread_lives(int32_t pid, int32_t tid) {
    return syscall(SYS_tgkill, pid, tid, 0) == 0 || errno != ESRCH;
}

inline int64_t nanoseconds(const timespec& time) { return time.tv_sec * 1'000'000'000LL + time.tv_nsec; }

inline int64_t clock_ns(clockid_t clock) {
    timespec now;
    clock_gettime(clock, &now);
    return nanoseconds(now);
}

// Waits while the word has that value, at most so long.
inline void wait_while(std::atomic<uint32_t>& word, uint32_t value, int64_t most_ns) {
    const timespec most = {most_ns / 1'000'000'000, most_ns % 1'000'000'000};
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, &most, nullptr, 0);
}

inline void wake_all(std::atomic<uint32_t>& word) {
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr, nullptr, 0);
}

// errno as it was: what the program sees after a call of ours.
class KeepErrno {
  public:
    KeepErrno() : value_(errno) {}
    ~KeepErrno() { errno = value_; }
    KeepErrno(const KeepErrno&) = delete;
    KeepErrno& operator=(const KeepErrno&) = delete;

  private:
    int value_;
};

}  // namespace gpushim::shim
