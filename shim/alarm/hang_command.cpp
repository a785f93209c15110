#include "hang_command.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "../base/config.h"
#include "../base/descriptors.h"
#include "../base/log.h"

namespace gpushim::shim {
namespace {

constexpr size_t kStackBytes = 64 << 10;
constexpr int kAside = 10;                                  // descriptors below are about to be used
constexpr int kNoSignalAtEnd = static_cast<int>(__WCLONE);  // of waitpid: a child that tells nobody
constexpr char kPreload[] = "LD_PRELOAD=", kNvtx[] = "NVTX_INJECTION64_PATH=", kOwnName[] = "libgpushim";

// Never destroyed: a process may exit at any time.
std::vector<std::string>* environment = nullptr;

bool begins(std::string_view text, std::string_view with) { return text.substr(0, with.size()) == with; }

// A variable as the command gets it; empty: not at all. The other libraries of LD_PRELOAD stay.
std::string without_us(std::string_view variable) {
    const bool names_us = variable.find(kOwnName) != std::string_view::npos;
    if (names_us && begins(variable, kNvtx)) return {};
    if (!names_us || !begins(variable, kPreload)) return std::string(variable);
    std::string kept;
    for (size_t at = std::strlen(kPreload); at < variable.size();) {
        const size_t end = std::min(variable.find_first_of(": ", at), variable.size());
        const std::string_view name = variable.substr(at, end - at);
        if (!name.empty() && name.find(kOwnName) == std::string_view::npos)
            kept.append(kept.empty() ? kPreload : ":").append(name);
        at = end + 1;
    }
    return kept;
}

struct Start {
    const char* const* arguments;
    std::vector<char*> environment;
    int input, output;
    char* top;  // of a stack for the second process
    int error;
};

void give_descriptors(const Start& start) {
    const int input = fcntl(start.input, F_DUPFD, kAside), output = fcntl(start.output, F_DUPFD, kAside);
    dup2(input, STDIN_FILENO);
    if (output < 0) close(STDOUT_FILENO), close(STDERR_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    if (syscall(SYS_close_range, 3u, ~0u, 0u) == 0) return;
    for (int file = 3; file < 1024; ++file) close(file);
}

// In the program's memory, while the writer waits: system calls only. The program's handlers must not run
// here, so they go before signals are let in.
int become_command(void* given) {
    Start& start = *static_cast<Start*>(given);
    setsid();
    give_descriptors(start);
    // Of the kernel's own form: the C library refuses those that it keeps for itself.
    const struct {
        void (*handler)(int) = SIG_DFL;
        unsigned long flags = 0;
        void (*restorer)() = nullptr;
        unsigned long mask = 0;
    } plain;
    for (int number = 1; number < NSIG; ++number)
        syscall(SYS_rt_sigaction, number, &plain, nullptr, sizeof plain.mask);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    execve(start.arguments[0], const_cast<char* const*>(start.arguments), start.environment.data());
    start.error = errno;
    _exit(127);
}

// Ends at once, so that the command has no parent here.
int hand_on(void* given) {
    Start& start = *static_cast<Start*>(given);
    if (clone(become_command, start.top, CLONE_VM | CLONE_VFORK | SIGCHLD, given) < 0) start.error = errno;
    return 0;
}

int file_of(std::string_view text) {
    const int file = static_cast<int>(syscall(SYS_memfd_create, "gpushim-hang", MFD_CLOEXEC));
    if (file < 0) return -1;
    const ssize_t written = write(file, text.data(), text.size());
    if (written == static_cast<ssize_t>(text.size()) && lseek(file, 0, SEEK_SET) == 0) return file;
    close(file);
    return -1;
}

// No signal tells of the first process's end, and a wait for any child does not find it.
int start_beside(Start& start) {
    const auto stacks = std::make_unique<char[]>(2 * kStackBytes);
    start.top = stacks.get() + 2 * kStackBytes;
    const int first = clone(hand_on, stacks.get() + kStackBytes, CLONE_VM | CLONE_VFORK, &start);
    if (first < 0) return errno;
    waitpid(first, nullptr, kNoSignalAtEnd);
    return start.error;
}

}  // namespace

void keep_environment() {
    delete environment;  // the parent's, in a child that has a context of its own
    environment = nullptr;
    if (config.on_hang[0] == '\0') return;
    try {
        auto kept = std::make_unique<std::vector<std::string>>();
        for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable)
            if (std::string text = without_us(*variable); !text.empty()) kept->push_back(std::move(text));
        kept->push_back("GPUSHIM_HANG_PID=" + std::to_string(getpid()));
        environment = kept.release();
    } catch (const std::bad_alloc&) {
        // Said when the command is wanted.
    }
}

int run_on_hang(std::string_view verdict) {
    if (environment == nullptr) return ENOMEM;
    const char* const arguments[] = {"/bin/sh", "-c", config.on_hang, nullptr};
    Start start = {arguments, {}, file_of(verdict), -1, nullptr, 0};
    if (start.input < 0) return errno;
    for (std::string& variable : *environment) start.environment.push_back(variable.data());
    start.environment.push_back(nullptr);
    start.output = has_own_descriptors() ? borrow_stderr() : fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, kAside);
    const int error = start_beside(start);
    close(start.input);
    if (start.output >= 0) close(start.output);
    return error;
}

}  // namespace gpushim::shim
