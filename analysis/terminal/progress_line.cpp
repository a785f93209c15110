#include "progress_line.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>

#include "../text/escape.h"
#include "../text/redact.h"
#include "progress.h"
#include "terminal.h"

namespace gpushim::analysis {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kQuiet(1000), kBetween(200);
constexpr std::string_view kName = "gpushim: ", kErase = "\r\033[K";

void write_all(std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
        if (written < 0 && errno != EINTR) return;  // there is nowhere to say that stderr does not work
        if (written > 0) text.remove_prefix(static_cast<size_t>(written));
    }
}

sigset_t endings() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaddset(&set, signal);
    return set;
}

// In so many columns whatever the characters are: a wide one takes two, and a line that wraps cannot be
// erased.
std::string cut(const std::string& text, size_t columns) {
    size_t width = 0;
    for (size_t at = 0; at < text.size(); ++at) {
        const auto byte = static_cast<unsigned char>(text[at]);
        if ((byte & 0xC0) == 0x80) continue;
        width += byte < 0x80 ? 1 : 2;
        if (width >= columns) return text.substr(0, at);
    }
    return text;
}

}  // namespace

ProgressLine& ProgressLine::get() {
    static ProgressLine* const line = new ProgressLine;  // never destroyed: what exits early leaves a painter
    return *line;
}

bool ProgressLine::is_wanted() {
    static const bool is = is_terminal(STDERR_FILENO);
    return is;
}

void ProgressLine::begin(Progress& progress) {
    const std::lock_guard guard(lock_);
    if (innermost_ == nullptr) start();
    innermost_ = &progress;
    Progress::innermost_ = &progress;
}

void ProgressLine::end(Progress& progress) {
    {
        const std::lock_guard guard(lock_);
        innermost_ = progress.around_;
        Progress::innermost_ = progress.around_;
        if (innermost_ != nullptr) return;
        erase();
    }
    stop();
}

std::unique_lock<std::mutex> ProgressLine::away(bool for_good) {
    std::unique_lock guard(lock_);
    erase();
    is_over_ = is_over_ || for_good;
    return guard;
}

// Where there is no thread or descriptor to be had, the work is done all the same.
void ProgressLine::start() {
    from_ = std::min(from_, Clock::now() + kQuiet);
    const sigset_t set = endings();
    pthread_sigmask(SIG_BLOCK, &set, &before_);
    over_ = eventfd(0, EFD_CLOEXEC);
    signals_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    try {
        if (over_ >= 0 && signals_ >= 0) painter_ = std::thread([this] { paint_on(); });
    } catch (const std::system_error&) {
    }
    if (!painter_.joinable()) stop();
}

void ProgressLine::stop() {
    if (painter_.joinable()) {
        eventfd_write(over_, 1);
        painter_.join();
    }
    for (int* const descriptor : {&over_, &signals_}) {
        if (*descriptor >= 0) close(*descriptor);
        *descriptor = -1;
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void ProgressLine::paint_on() {
    for (;;) {
        const auto quiet = std::chrono::ceil<milliseconds>(from_ - Clock::now());
        pollfd ends[] = {{over_, POLLIN, 0}, {signals_, POLLIN, 0}};
        const int ready = poll(ends, std::size(ends), static_cast<int>(std::max(quiet, kBetween).count()));
        if (ready < 0 && errno != EINTR) return;
        if (ready > 0 && ends[0].revents != 0) return;
        if (ready > 0) {
            pass_on();
            continue;
        }
        // Who holds it may write to a reader that does not read, and signals are taken here.
        const std::unique_lock guard(lock_, std::try_to_lock);
        if (guard && innermost_ != nullptr) paint();
    }
}

void ProgressLine::paint() {
    pollfd terminal = {STDERR_FILENO, POLLOUT, 0};  // Ctrl-S: who waits for it would take no signal
    if (has_ended_ || is_over_ || is_in_background(STDERR_FILENO) || poll(&terminal, 1, 0) != 1) return;
    const std::string said = for_terminal(without_hidden_names(innermost_->text(Clock::now())));
    const size_t columns = columns_of(STDERR_FILENO);
    if (columns <= kName.size()) return;
    // Back to the begin of the line: whatever else comes to the terminal then begins there.
    write_all("\r" + std::string(kName) + cut(said, columns - kName.size()) + "\033[K\r");
    is_painted_ = true;
}

void ProgressLine::erase() {
    if (is_painted_ && !is_in_background(STDERR_FILENO)) write_all(kErase);
    is_painted_ = false;
}

void ProgressLine::pass_on() {
    signalfd_siginfo info;
    struct sigaction action;
    if (read(signals_, &info, sizeof info) != sizeof info) return;
    const int signal = static_cast<int>(info.ssi_signo);
    if (sigaction(signal, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) return;
    {
        // Who holds it may wait for the terminal for ever.
        const std::unique_lock guard(lock_, std::try_to_lock);
        if (guard) erase();
        has_ended_ = true;  // only this thread asks
    }
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, signal);
    pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
    raise(signal);
    pthread_sigmask(SIG_BLOCK, &one, nullptr);
}

BesideProgress::BesideProgress(bool for_good) {
    if (ProgressLine::is_wanted()) held_ = ProgressLine::get().away(for_good);
}

}  // namespace gpushim::analysis
