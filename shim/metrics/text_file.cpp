#include "text_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

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

}  // namespace

int replace_file(const char* path, std::string_view text, unsigned mode) {
    char beside[kLongestPath];
    // No reader of *.prom takes it for one.
    const int length = snprintf(beside, sizeof beside, "%s.%d.new", path, getpid());
    if (length < 0 || length >= static_cast<int>(sizeof beside)) return ENAMETOOLONG;
    unlink(beside);  // of a process of that number that was killed
    const int file = kept_as_ours(open(beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (file < 0) return errno;
    int error = write_all(file, text);
    if (error == 0 && (!is_ours(file) || fchmod(file, mode) != 0)) error = errno;
    if (close_ours(file) != 0 && error == 0) error = errno;
    if (error == 0 && rename(beside, path) != 0) error = errno;
    if (error != 0) unlink(beside);
    return error;
}

}  // namespace gpushim::shim
