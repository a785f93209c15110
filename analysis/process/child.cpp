#include "child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "../failure.h"
#include "write_signals.h"

namespace gpushim::analysis {

namespace {

struct BlockedSignals {
    BlockedSignals() {
        sigset_t all;
        sigfillset(&all);
        // Faults of our own stay ours.
        for (const int fault : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP}) sigdelset(&all, fault);
        sigprocmask(SIG_SETMASK, &all, &before_);
        blocked_ = all;
    }
    ~BlockedSignals() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
    sigset_t before_, blocked_;
};

[[noreturn]] void become(std::span<char* const> command, const std::map<std::string, std::string>& variables,
                         const sigset_t& mask, int tell) {
    for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
    std::vector<char*> words(command.begin(), command.end());
    words.push_back(nullptr);
    give_back_write_signals();
    sigprocmask(SIG_SETMASK, &mask, nullptr);
    execvp(words[0], words.data());
    const int error = errno;
    // The parent reads it; if that fails there is nobody to tell.
    (void)!write(tell, &error, sizeof error);
    _exit(127);
}

// A key of the terminal (Ctrl-C) reaches the child by itself; what was sent to us alone goes on to it.
bool is_for_child(const siginfo_t& info) {
    return info.si_code != SI_KERNEL && info.si_signo != SIGCHLD && info.si_signo != SIGPIPE;
}

int follow(pid_t child, const BlockedSignals& signals) {
    for (;;) {
        int status = 0;
        const pid_t changed = waitpid(child, &status, WNOHANG | WUNTRACED);
        if (changed == child && !WIFSTOPPED(status)) return status;
        if (changed == child) raise(SIGSTOP);  // so that the shell gets its prompt; `fg` continues both
        siginfo_t info;
        if (changed == 0 && sigwaitinfo(&signals.blocked_, &info) > 0 && is_for_child(info))
            kill(child, info.si_signo);
    }
}

}  // namespace

int run_child(std::span<char* const> command, const std::map<std::string, std::string>& variables) {
    int tell[2];
    if (pipe2(tell, O_CLOEXEC) != 0) throw Failure("cannot make a pipe", kIncomplete);
    const BlockedSignals signals;
    const pid_t child = fork();
    if (child == 0) become(command, variables, signals.before_, tell[1]);
    close(tell[1]);
    int error = 0;
    const bool failed = child > 0 && read(tell[0], &error, sizeof error) == sizeof error;
    close(tell[0]);
    if (child < 0) throw Failure(std::string("cannot start a process: ") + strerror(errno), kIncomplete);
    const int status = follow(child, signals);
    if (!failed) return status;
    throw Failure(std::string(command[0]) + ": " + strerror(error),
                  static_cast<ExitCode>(error == ENOENT ? 127 : 126));
}

int end_like(int wait_status) {
    if (WIFEXITED(wait_status)) return WEXITSTATUS(wait_status);
    const int number = WTERMSIG(wait_status);
    const rlimit no_core = {0, 0};  // the program has left its own
    setrlimit(RLIMIT_CORE, &no_core);
    signal(number, SIG_DFL);
    raise(number);
    return 128 + number;
}

}  // namespace gpushim::analysis
