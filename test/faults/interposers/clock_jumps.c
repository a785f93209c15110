// CLOCK_REALTIME that jumps by an hour, forth and back, at every hundredth reading, as when somebody sets it.
// CLOCK_MONOTONIC is what it is.
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec* now) {
    static atomic_uint readings;
    const int result = (int)syscall(SYS_clock_gettime, clock, now);
    if (clock == CLOCK_REALTIME && atomic_fetch_add(&readings, 1) / 100 % 2 == 1) now->tv_sec += 3600;
    return result;
}
