#include "proc_thread.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "../sqlite/rows.h"

namespace gpushim::shim {
namespace {

struct Known {
    long syscall;
    HostClass what;
};
constexpr auto kDescriptor = HostClass::waiting_for_descriptor;
constexpr auto kLock = HostClass::waiting_for_lock;

// In D (waiting for a disk, or something like one) a thread is whatever it has called.
constexpr Known kKnown[] = {
#if defined(SYS_poll)  // the older forms, which only x86-64 has
    {SYS_poll, kDescriptor},
    {SYS_select, kDescriptor},
    {SYS_epoll_wait, kDescriptor},
#endif
    {SYS_ppoll, kDescriptor},
    {SYS_pselect6, kDescriptor},
    {SYS_epoll_pwait, kDescriptor},
#if defined(SYS_epoll_pwait2)
    {SYS_epoll_pwait2, kDescriptor},
#endif
    {SYS_accept, kDescriptor},
    {SYS_accept4, kDescriptor},
    {SYS_futex, kLock},
#if defined(SYS_futex_waitv)
    {SYS_futex_waitv, kLock},
#endif
    {SYS_flock, kLock},
    {SYS_semop, kLock},
    {SYS_semtimedop, kLock},
    {SYS_nanosleep, HostClass::sleeping},
    {SYS_clock_nanosleep, HostClass::sleeping},
    {SYS_read, HostClass::reading},
    {SYS_pread64, HostClass::reading},
    {SYS_readv, HostClass::reading},
    {SYS_preadv, HostClass::reading},
    {SYS_preadv2, HostClass::reading},
    {SYS_recvfrom, HostClass::reading},
    {SYS_recvmsg, HostClass::reading},
    {SYS_recvmmsg, HostClass::reading},
    {SYS_fsync, HostClass::disk},
    {SYS_fdatasync, HostClass::disk},
    {SYS_sync, HostClass::disk},
    {SYS_syncfs, HostClass::disk},
    {SYS_msync, HostClass::disk},
    {SYS_io_getevents, HostClass::disk},
    {SYS_wait4, HostClass::child},
    {SYS_waitid, HostClass::child},
    {SYS_sched_yield, HostClass::running},
};

template <class Number>
std::optional<Number> number_in(std::string_view text) {
    Number number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() ? std::optional(number) : std::nullopt;
}

// "23 0x0 0x7ffd30 …": the words of the call; the first is its number.
std::string_view word_of(std::string_view text, int which) {
    for (; which > 0 && !text.empty(); --which) text.remove_prefix(std::min(text.find(' ') + 1, text.size()));
    return text.substr(0, text.find(' '));
}

// So Python before 3.11 sleeps, and others that want less than a second: select() or poll() of none.
bool waits_for_no_descriptor(long syscall, std::string_view text) {
    bool counts_first = syscall == SYS_pselect6, counts_second = syscall == SYS_ppoll;
#if defined(SYS_poll)
    counts_first = counts_first || syscall == SYS_select;
    counts_second = counts_second || syscall == SYS_poll;
#endif
    return (counts_first && word_of(text, 1) == "0x0") || (counts_second && word_of(text, 2) == "0x0");
}

}  // namespace

std::string_view read_of_thread(int32_t tid, const char* name, char (&to)[1024]) {
    char path[64];
    std::snprintf(path, sizeof path, "/proc/self/task/%d/%s", tid, name);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return {};
    const ssize_t size = read(file, to, sizeof to);
    close(file);
    return {to, size > 0 ? static_cast<size_t>(size) : 0};
}

std::optional<InSyscall> parse_syscall(std::string_view text) {
    if (text.starts_with("running")) return InSyscall{true, -1};
    const auto number = number_in<long>(text);
    if (!number) return std::nullopt;
    return InSyscall{false, waits_for_no_descriptor(*number, text) ? SYS_nanosleep : *number};
}

// "pid (name) S …"; the name may hold anything.
char parse_state(std::string_view stat) {
    const size_t end_of_name = stat.rfind(')');
    return end_of_name != std::string_view::npos && end_of_name + 2 < stat.size() ? stat[end_of_name + 2]
                                                                                  : '?';
}

int64_t parse_runqueue_ns(std::string_view schedstat) {
    const size_t second = schedstat.find(' ');
    if (second == std::string_view::npos) return kNull;
    return number_in<int64_t>(schedstat.substr(second + 1)).value_or(kNull);
}

// "202 0x7f31c8a2b4f8 0x189 …": the call, and its arguments.
std::optional<uint64_t> parse_futex(std::string_view syscall) {
    const auto in = parse_syscall(syscall);
    if (!in) return std::nullopt;
    const size_t at = syscall.find(" 0x");
    if (in->running || in->number != SYS_futex || at == std::string_view::npos) return 0;
    uint64_t address = 0;
    std::from_chars(syscall.data() + at + 3, syscall.data() + syscall.size(), address, 16);
    return address;
}

std::optional<uint64_t> futex_of_thread(int32_t tid) {
    char text[1024];
    return parse_futex(read_of_thread(tid, "syscall", text));
}

HostClass class_of(long syscall, char state) {
    if (state == 'R') return HostClass::running;
    if (state == 'D') return HostClass::disk;
    for (const Known& known : kKnown)
        if (known.syscall == syscall) return known.what;
    return HostClass::other;
}

std::optional<HostSample> look_at_thread(int32_t tid) {
    char text[1024];
    const auto in = parse_syscall(read_of_thread(tid, "syscall", text));
    const char state = in && in->running ? 'R' : parse_state(read_of_thread(tid, "stat", text));
    if (state == '?') return std::nullopt;
    const HostClass what = class_of(in ? in->number : -1, state);
    return HostSample{0, what, parse_runqueue_ns(read_of_thread(tid, "schedstat", text))};
}

}  // namespace gpushim::shim
