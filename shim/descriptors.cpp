#include "descriptors.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "file_status.h"
#include "protection.h"
#include "system.h"
#include "thread_sanitizer.h"

namespace gpushim::shim {
namespace {

thread_local constinit bool own_descriptors = false;

std::vector<int> open_descriptors() {
    std::vector<int> found;
    DIR* entries = opendir("/proc/thread-self/fd");
    if (entries == nullptr) return found;
    while (const dirent* entry = readdir(entries))
        if (entry->d_name[0] != '.') found.push_back(atoi(entry->d_name));
    closedir(entries);
    return found;
}

bool leads_to(int descriptor, const char* path) {
    char link[64];
    char target[4096];
    snprintf(link, sizeof link, "/proc/thread-self/fd/%d", descriptor);
    const ssize_t length = readlink(link, target, sizeof target);
    const size_t wanted = strlen(path);
    return length >= static_cast<ssize_t>(wanted) && memcmp(target, path, wanted) == 0;
}

}  // namespace

bool has_own_descriptors() { return own_descriptors; }

// Containers often forbid unshare, but not the same done by close_range.
bool leave_descriptors() {
    if (!kept(Protection::own_descriptors) || thread_sanitizer_watches()) return false;
    own_descriptors = syscall(SYS_close_range, 0u, ~0u, CLOSE_RANGE_UNSHARE) == 0;
    if (own_descriptors) return true;
    own_descriptors = unshare(CLONE_FILES) == 0;
    if (own_descriptors)
        for (const int descriptor : open_descriptors()) close(descriptor);
    return own_descriptors;
}

void WatchedFiles::watch(const char* path) {
    files_.clear();
    for (const int descriptor : open_descriptors()) {
        struct stat facts;
        if (leads_to(descriptor, path) && status_of(descriptor, &facts) == 0)
            files_.push_back({descriptor, facts.st_dev, facts.st_ino});
    }
}

bool WatchedFiles::are_intact() const {
    if (!kept(Protection::identity_of_files)) return true;
    for (const File& file : files_) {
        struct stat facts;
        if (status_of(file.descriptor, &facts) != 0) return false;
        if (facts.st_dev != file.device || facts.st_ino != file.inode) return false;
    }
    return true;
}

}  // namespace gpushim::shim
