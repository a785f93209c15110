#include "descriptors.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
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
thread_local constinit bool shared_descriptors = false;

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

// Containers often forbid unshare, but not the same done by close_range.
bool gets_a_table() {
    if (!kept(Protection::own_descriptors) || thread_sanitizer_watches()) return false;
    if (syscall(SYS_close_range, 0u, ~0u, CLOSE_RANGE_UNSHARE) == 0) return true;
    if (unshare(CLONE_FILES) != 0) return false;
    for (const int descriptor : open_descriptors()) close(descriptor);
    return true;
}

}  // namespace

bool has_own_descriptors() { return own_descriptors; }
bool shares_descriptors() { return shared_descriptors; }

bool leave_descriptors() {
    own_descriptors = gets_a_table();
    shared_descriptors = !own_descriptors;
    return own_descriptors;
}

std::optional<OwnFile> own_file(int descriptor) {
    struct stat facts;
    if (status_of(descriptor, &facts) != 0) return {};
    return OwnFile{descriptor, facts.st_dev, facts.st_ino};
}

bool OwnFile::is_still() const {
    if (!kept(Protection::identity_of_files)) return true;
    struct stat facts;
    return status_of(descriptor, &facts) == 0 && facts.st_dev == device && facts.st_ino == inode;
}

void WatchedFiles::watch(const char* path) {
    files_.clear();
    for (const int descriptor : open_descriptors())
        if (leads_to(descriptor, path))
            if (const auto file = own_file(descriptor)) files_.push_back(*file);
}

bool WatchedFiles::are_intact() const {
    return std::all_of(files_.begin(), files_.end(), [](const OwnFile& file) { return file.is_still(); });
}

}  // namespace gpushim::shim
