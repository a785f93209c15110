#include "answer.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "../failure.h"
#include "progress.h"
#include "stderr_line.h"

namespace gpushim::analysis {

namespace {

constexpr size_t kBufferBytes = 64 << 10;

// stdio knows that a write failed, and not why, nor where lines end: so its bytes pass through here.
struct Answer {
    std::string begun;      // of a line whose end has not come
    int error = 0;          // the first; nothing is written after it
    bool is_piped = false;  // maybe to a pager, which then has the terminal
};
Answer g_answer;

// What another program has made of a shared terminal (non-blocking) is waited for.
bool wait_until_writable() {
    pollfd writable = {STDOUT_FILENO, POLLOUT, 0};
    return poll(&writable, 1, -1) > 0;
}

void write_out(std::string_view text) {
    if (text.empty() || g_answer.error != 0) return;
    const BesideProgress room(g_answer.is_piped);
    while (!text.empty() && g_answer.error == 0) {
        const ssize_t done = write(STDOUT_FILENO, text.data(), text.size());
        if (done >= 0)
            text.remove_prefix(static_cast<size_t>(done));
        else if (errno != EINTR && (errno != EAGAIN || !wait_until_writable()))
            g_answer.error = errno;
    }
}

ssize_t take(void*, const char* bytes, size_t size) {
    const std::string_view text(bytes, size);
    const size_t end = text.rfind('\n');
    try {
        if (end == std::string_view::npos) {
            g_answer.begun += text;
        } else {
            g_answer.begun += text.substr(0, end + 1);
            write_out(g_answer.begun);
            g_answer.begun = text.substr(end + 1);
        }
    } catch (const std::bad_alloc&) {  // between us and main there is stdio, which is C
        g_answer.error = ENOMEM;
    }
    return g_answer.error == 0 ? static_cast<ssize_t>(size) : 0;
}

}  // namespace

void begin_answer() {
    FILE* const ours = fopencookie(nullptr, "w", {nullptr, take, nullptr, nullptr});
    if (ours == nullptr) return;  // no memory: what follows says so
    struct stat facts;
    g_answer.is_piped =
        fstat(STDOUT_FILENO, &facts) == 0 && (S_ISFIFO(facts.st_mode) || S_ISSOCK(facts.st_mode));
    static char buffer[kBufferBytes];
    setvbuf(ours, buffer, isatty(STDOUT_FILENO) != 0 ? _IOLBF : _IOFBF, sizeof buffer);
    stdout = ours;
}

bool is_answer_read() { return g_answer.error == 0; }

int end_answer(int code) {
    std::fflush(stdout);
    write_out(g_answer.begun);
    g_answer.begun.clear();
    // A file on another machine tells of a full disk as late as this; stdout itself stays open.
    const int copy = dup(STDOUT_FILENO);
    if (copy >= 0 && close(copy) != 0 && g_answer.error == 0) g_answer.error = errno;
    if (g_answer.error == 0 || g_answer.error == EPIPE || g_answer.error == ECONNRESET) return code;
    stderr_line(std::string("the answer is incomplete: stdout cannot be written: ") +
                std::strerror(g_answer.error));
    return kIncomplete;
}

}  // namespace gpushim::analysis
