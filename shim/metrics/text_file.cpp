#include "text_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "../base/own_files.h"

namespace gpushim::shim {
namespace {

constexpr size_t kLongestPath = 1100;

// 0, or errno's number.
int write_all(int file, std::string_view text) {
    while (!text.empty()) {
        if (!is_ours(file)) return errno;
        const ssize_t written = write(file, text.data(), text.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return written < 0 ? errno : ENOSPC;
        text.remove_prefix(static_cast<size_t>(written));
    }
    return 0;
}

// A lock of the writer's table of descriptors: no child has it, and it goes when the process dies.
struct flock whole_file() {
    struct flock lock = {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    return lock;
}

}  // namespace

TextFile::~TextFile() {
    if (file_ >= 0) close_ours(file_);
}

int TextFile::replace(const char* path, std::string_view text, unsigned mode) {
    char beside[kLongestPath];
    // No reader of *.prom takes it for one.
    const int length = snprintf(beside, sizeof beside, "%s.%d.new", path, getpid());
    if (length < 0 || length >= static_cast<int>(sizeof beside)) return ENAMETOOLONG;
    unlink(beside);  // of a process of that number that was killed
    const int file = kept_as_ours(open(beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (file < 0) return errno;
    int error = write_all(file, text);
    if (error == 0 && (!is_ours(file) || fchmod(file, mode) != 0)) error = errno;
    struct flock lock = whole_file();
    if (error == 0) fcntl(file, F_SETLK, &lock);  // not everywhere; then nobody is told
    if (error == 0 && rename(beside, path) != 0) error = errno;
    if (error != 0) unlink(beside);
    const int done = error == 0 ? std::exchange(file_, file) : file;
    if (done >= 0) close_ours(done);
    return error;
}

bool TextFile::is_there(const char* path) const {
    struct stat there, ours;
    return file_ >= 0 && is_ours(file_) && fstat(file_, &ours) == 0 && lstat(path, &there) == 0 &&
           there.st_ino == ours.st_ino && there.st_dev == ours.st_dev;
}

bool TextFile::is_anothers(const char* path) const {
    if (is_there(path)) return false;  // opened once more and closed, it would be locked no longer
    const int file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (file < 0) return false;
    struct flock lock = whole_file();
    const bool is_locked = fcntl(file, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    close(file);
    return is_locked;
}

void TextFile::remove(const char* path) {
    if (is_there(path)) unlink(path);
}

}  // namespace gpushim::shim
