#include "run_notes.h"

#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "file_status.h"
#include "system.h"

#define EXPORTED __attribute__((visibility("default")))

namespace gpushim::shim {
namespace {

constexpr char kVariable[] = "GPUSHIM_RUN_NOTES";  // TOKEN@PATH
constexpr size_t kTokenLength = 16;
constexpr size_t kHeadLength = kTokenLength + 1;  // the file begins with the token and a zero
constexpr size_t kLongestNote = 2048;

// The notes that the environment names. -1: it names none, or what lies there is not these notes: the `run`
// has ended, or its number has another meaning here.
int open_notes() {
    const char* value = getenv(kVariable);
    if (value == nullptr || strlen(value) <= kHeadLength || value[kTokenLength] != '@') return -1;
    const int notes = open(value + kHeadLength, O_RDWR | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (notes < 0) return -1;
    struct stat facts;
    char head[kHeadLength];
    const bool ours = status_of(notes, &facts) == 0 && S_ISREG(facts.st_mode) &&
                      pread(notes, head, sizeof head, 0) == static_cast<ssize_t>(sizeof head) &&
                      memcmp(head, value, kTokenLength) == 0 && head[kTokenLength] == '\0';
    if (ours) return notes;
    close(notes);
    return -1;
}

bool make_token(char (&token)[kHeadLength]) {
    uint64_t number;
    if (getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number) return false;
    snprintf(token, sizeof token, "%016" PRIx64, number);
    return true;
}

int make_notes(const char (&token)[kHeadLength]) {
    const int notes = static_cast<int>(syscall(SYS_memfd_create, "gpushim-run", MFD_CLOEXEC));
    if (notes < 0) return -1;
    // A process that was started without a standard stream must not find the notes in its place.
    const int moved = fcntl(notes, F_DUPFD_CLOEXEC, 3);
    close(notes);
    if (moved >= 0 && write(moved, token, sizeof token) == static_cast<ssize_t>(sizeof token)) return moved;
    if (moved >= 0) close(moved);
    return -1;
}

}  // namespace

bool leave_note(NoteKind kind, const char* text) {
    const KeepErrno keep;
    char note[kLongestNote];
    const int length = snprintf(note, sizeof note, "%c%s", static_cast<char>(kind), text);
    if (length < 0 || static_cast<size_t>(length) >= sizeof note) return false;
    const int notes = open_notes();
    if (notes < 0) return false;
    // With its zero, in one write, at the end: notes of several processes never mix.
    const bool left = write(notes, note, static_cast<size_t>(length) + 1) == length + 1;
    close(notes);
    return left;
}

bool is_noted() {
    const KeepErrno keep;
    const int notes = open_notes();
    if (notes >= 0) close(notes);
    return notes >= 0;
}

}  // namespace gpushim::shim

using namespace gpushim::shim;

EXPORTED int gpushim_begin_notes(char* variable, size_t size) {
    char token[kHeadLength];
    if (is_noted() || !make_token(token)) return -1;
    const int notes = make_notes(token);
    if (notes >= 0)
        snprintf(variable, size, "%s=%s@/proc/%d/fd/%d", kVariable, token, static_cast<int>(getpid()), notes);
    return notes;
}

EXPORTED void gpushim_read_notes(int notes, void (*read)(void* with, char kind, const char* text),
                                 void* with) {
    std::string all;
    char part[4096];
    for (ssize_t got; (got = pread(notes, part, sizeof part, static_cast<off_t>(all.size()))) > 0;)
        all.append(part, static_cast<size_t>(got));
    for (size_t at = kHeadLength; at < all.size(); at += strlen(all.c_str() + at) + 1)
        read(with, all[at], all.c_str() + at + 1);
}
