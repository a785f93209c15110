#include "log.h"

#include <fcntl.h>
#include <spdlog/details/null_mutex.h>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <memory>

#include "descriptors.h"
#include "system.h"

namespace gpushim::shim {
namespace {

constexpr int kStderr = 2;
constexpr size_t kLongestLine = 1024;

// The writer closed the program's stderr for itself, so that whoever waits for its end does not wait for us;
// it borrows it for one line. From the main thread's table: shared with it (the same file position), else
// anew.
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

void write_line(const char* line, size_t length) {
    const int file = has_own_descriptors() ? borrow_stderr() : kStderr;
    if (file < 0) return;
    // Ignored: there is nowhere to say that stderr does not work.
    [[maybe_unused]] const ssize_t written = write(file, line, length);
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
        // Out of memory, most likely: a line less.
    }
}

}  // namespace gpushim::shim
