// stat, lstat and fstat by the kernel. Other libraries have theirs in front of libc's (libfaketime), and have
// put away what these need when we write the rest at the exit. No allocation, errno as the kernel says. Any
// thread.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gpushim::shim {

inline int status_of(const char* path, struct stat* facts) {
    return static_cast<int>(syscall(SYS_newfstatat, AT_FDCWD, path, facts, 0));
}
inline int status_of_link(const char* path, struct stat* facts) {
    return static_cast<int>(syscall(SYS_newfstatat, AT_FDCWD, path, facts, AT_SYMLINK_NOFOLLOW));
}
inline int status_of(int descriptor, struct stat* facts) {
    return static_cast<int>(syscall(SYS_fstat, descriptor, facts));
}

}  // namespace gpushim::shim
