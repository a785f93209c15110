#include "full_screen.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <string_view>

#include "terminal.h"

namespace gpushim::analysis {

namespace {

// The other page, without a cursor, from an empty screen; and back.
constexpr std::string_view kTake = "\033[?1049h\033[?25l\033[H\033[2J";
constexpr std::string_view kLeave = "\033[0m\033[?25h\033[?1049l";

constexpr int kPatienceMs = 1000;  // for a terminal that takes nothing

constexpr std::array kHandled = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH};

// What the handler says to the loop: a byte in a pipe, for poll() may have just begun to wait.
int wake_pipe[2] = {-1, -1};
std::atomic<int> ending_signal = 0;
std::atomic<bool> is_stopping = false, is_continued = false;
std::array<struct sigaction, kHandled.size()> former;

void on_signal(int signal) {
    const int error = errno;
    if (signal == SIGTSTP)
        is_stopping = true;
    else if (signal == SIGCONT)
        is_continued = true;
    else if (signal != SIGWINCH)
        ending_signal = signal;
    const char byte = 0;
    [[maybe_unused]] const ssize_t written = write(wake_pipe[1], &byte, 1);  // full: the loop wakes anyway
    errno = error;
}

void set_handlers() {
    struct sigaction action = {};
    action.sa_handler = on_signal;
    sigfillset(&action.sa_mask);
    for (size_t i = 0; i < kHandled.size(); ++i) {
        sigaction(kHandled[i], nullptr, &former[i]);
        // What was ignored when we were started stays so: nohup.
        if (former[i].sa_handler != SIG_IGN) sigaction(kHandled[i], &action, nullptr);
    }
}

void put_back_handlers() {
    for (size_t i = 0; i < kHandled.size(); ++i) sigaction(kHandled[i], &former[i], nullptr);
}

// A terminal that is told to wait (Ctrl-S) takes nothing, and write() would then never return: it is asked
// first, and given no more than it has said that it takes. False: it is gone. What a terminal that waits was
// not given is lost; the next picture has it.
bool send(std::string_view bytes) {
    constexpr size_t kTakenAtOnce = 256;
    while (!bytes.empty()) {
        pollfd ready = {STDOUT_FILENO, POLLOUT, 0};
        const int is_ready = poll(&ready, 1, kPatienceMs);
        if (is_ready == 0 || (is_ready < 0 && ending_signal != 0)) return true;
        if (is_ready < 0) continue;
        const ssize_t written = write(STDOUT_FILENO, bytes.data(), std::min(bytes.size(), kTakenAtOnce));
        if (written > 0)
            bytes.remove_prefix(static_cast<size_t>(written));
        else if (written < 0 && errno != EINTR && errno != EAGAIN)
            return false;
    }
    return true;
}

}  // namespace

bool can_fill_screen() { return is_terminal(STDIN_FILENO) && is_terminal(STDOUT_FILENO); }

FullScreen::FullScreen() {
    if (!can_fill_screen()) return;
    if (tcgetattr(STDIN_FILENO, &before_) != 0 || pipe2(wake_pipe, O_CLOEXEC | O_NONBLOCK) != 0) return;
    is_there_ = true;
    ending_signal = 0;
    set_handlers();
    take();
}

FullScreen::~FullScreen() {
    if (!is_there_) return;
    leave();
    put_back_handlers();
    for (int& end : wake_pipe) {
        close(end);
        end = -1;
    }
}

// Ctrl-C stays a signal, so it works even where nobody reads.
void FullScreen::take() {
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    send(kTake);
}

void FullScreen::leave() {
    send(kLeave);
    tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

int FullScreen::ended_by() const { return ending_signal; }

FullScreen::Size FullScreen::size() const {
    constexpr Size kUsual = {24, 80};
    winsize size = {};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return kUsual;
    return {size.ws_row, size.ws_col};
}

void FullScreen::show(const std::string& bytes) {
    if (!send(bytes)) has_ended_ = true;
}

std::string FullScreen::wait_for_keys(int milliseconds) {
    pollfd sources[] = {{STDIN_FILENO, POLLIN, 0}, {wake_pipe[0], POLLIN, 0}};
    const int ready = poll(sources, 2, milliseconds);
    if (sources[1].revents != 0) {
        std::array<char, 64> ignored;
        while (read(wake_pipe[0], ignored.data(), ignored.size()) > 0) continue;
    }
    has_ended_ |= ending_signal != 0;
    if (is_stopping.exchange(false)) {
        leave();
        raise(SIGSTOP);
        is_continued = true;
    }
    if (is_continued.exchange(false)) take();
    if (ready <= 0 || sources[0].revents == 0) return {};
    std::array<char, 256> keys;
    const ssize_t count = read(STDIN_FILENO, keys.data(), keys.size());
    if (count > 0) return {keys.data(), static_cast<size_t>(count)};
    // Readable without a byte: its other end is closed.
    has_ended_ |= count == 0 || (errno != EINTR && errno != EAGAIN);
    return {};
}

}  // namespace gpushim::analysis
