#include "log.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spdlog/details/null_mutex.h>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <memory>

#include "descriptors.h"
#include "protection.h"
#include "system.h"

namespace gpushim::shim {
namespace {

constexpr int kStderr = 2;
constexpr size_t kLongestLine = 1024;
constexpr int kLongestPlain = 1000;

// A reader that is gone would end the program by SIGPIPE, which is not ours to raise: it is held back during
// the write, and taken out of the pending ones if the write has made it so.
class HoldBackPipeSignal {
  public:
    HoldBackPipeSignal() {
        sigemptyset(&pipe_);
        sigaddset(&pipe_, SIGPIPE);
        sigset_t pending;
        sigpending(&pending);
        was_pending_ = sigismember(&pending, SIGPIPE) == 1;
        if (!kept(Protection::held_back_sigpipe)) sigemptyset(&pipe_);
        pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
    }
    ~HoldBackPipeSignal() {
        constexpr timespec kNow{0, 0};
        if (!was_pending_) sigtimedwait(&pipe_, nullptr, &kNow);
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
    HoldBackPipeSignal(const HoldBackPipeSignal&) = delete;
    HoldBackPipeSignal& operator=(const HoldBackPipeSignal&) = delete;

  private:
    sigset_t pipe_;
    sigset_t before_;
    bool was_pending_;
};

// A full pipe that nobody reads would hold the program up: a line less instead. PIPE_BUF bytes fit where poll
// says that there is room.
bool has_room(int file) {
    pollfd room{file, POLLOUT, 0};
    return poll(&room, 1, 0) == 1 && (room.revents & POLLOUT) != 0;
}

void write_line(const char* line, size_t length) {
    const int file = has_own_descriptors() ? borrow_stderr() : kStderr;
    if (file < 0) return;
    if (has_room(file)) {
        const HoldBackPipeSignal held_back;
        // Ignored: there is nowhere to say that stderr does not work.
        [[maybe_unused]] const ssize_t written = write(file, line, length);
    }
    if (file != kStderr) close(file);
}

class Sink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
  protected:
    void sink_it_(const spdlog::details::log_msg& message) override {
        spdlog::memory_buf_t line;
        formatter_->format(message, line);
        write_line(line.data(), line.size());
    }
    void flush_() override {}
};

spdlog::level::level_enum level_of(LogLevel level) {
    constexpr spdlog::level::level_enum kLevels[] = {spdlog::level::off, spdlog::level::err,
                                                     spdlog::level::warn, spdlog::level::info,
                                                     spdlog::level::debug};
    return kLevels[static_cast<size_t>(level)];
}

// Made for each line, of which there are few: nothing lives on, so nothing is locked when the process forks.
void log_text(LogLevel level, const char* text) {
    spdlog::logger lines("gpushim", std::make_shared<Sink>());
    lines.set_formatter(std::make_unique<spdlog::pattern_formatter>("gpushim: %v"));
    lines.set_level(spdlog::level::debug);
    lines.log(level_of(level), "{}", text);
}

}  // namespace

// The writer closed the program's stderr for itself, so that nobody who waits for its end waits for us;
// it borrows it for one line. From the main thread's table: shared with it (the same file position), else
// opened again.
int borrow_stderr() {
    const pid_t pid = getpid();
    const int process = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
    int borrowed = -1;
    if (process >= 0) {
        borrowed = static_cast<int>(syscall(SYS_pidfd_getfd, process, kStderr, 0));
        close(process);
    }
    if (borrowed >= 0) return borrowed;
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/fd/2", pid);
    return open(path, O_WRONLY | O_APPEND | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
}

void log_line(LogLevel level, const char* format, ...) {
    if (level == LogLevel::off || level > config.log) return;
    const KeepErrno keep;
    char line[kLongestLine];
    va_list values;
    va_start(values, format);
    vsnprintf(line, sizeof line, format, values);
    va_end(values);
    try {
        log_text(level, line);
    } catch (...) {
        // Out of memory, most likely: the same without it.
        char plain[kLongestLine];
        const int length = snprintf(plain, sizeof plain, "gpushim: %.*s\n", kLongestPlain, line);
        write_line(plain, static_cast<size_t>(length));
    }
}

}  // namespace gpushim::shim
