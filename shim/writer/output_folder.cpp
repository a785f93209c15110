#include "output_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "../base/file_status.h"
#include "../base/system.h"

namespace gpushim::shim {
namespace {

constexpr size_t kLongestPath = 1024;
constexpr mode_t kFolderMode = 0775;  // less the umask: never anybody's

constinit char start_folder[kLongestPath] = {};

// By the kernel: where it does not know the name, glibc would look for it in all folders above.
bool current_folder(char* to, size_t size) { return syscall(SYS_getcwd, to, size) > 0 && to[0] == '/'; }

int enter(int folder, const char* name, int flags) {
    const int entered = openat(folder, name, O_PATH | O_DIRECTORY | O_CLOEXEC | flags);
    close(folder);
    return entered;
}

// The folder `name` of that one, which is closed; made where it is missing. -1: errno.
int enter_or_make(int folder, const char* name, bool may_make) {
    const int there = openat(folder, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (there >= 0 || errno != ENOENT || !may_make) {
        const KeepErrno keep;
        close(folder);
        return there;
    }
    if (mkdirat(folder, name, kFolderMode) != 0 && errno != EEXIST) {
        const KeepErrno keep;
        close(folder);
        return -1;
    }
    return enter(folder, name, O_NOFOLLOW);
}

}  // namespace

void remember_start_folder() {
    const KeepErrno keep;
    if (!current_folder(start_folder, sizeof start_folder)) start_folder[0] = '\0';
}

bool make_absolute(const char* name, char* to, size_t size, size_t* base) {
    char here[kLongestPath];
    const char* folder = start_folder;
    *base = 0;
    if (name[0] == '/') return snprintf(to, size, "%s", name) < static_cast<int>(size);
    if (*folder == '\0') {
        if (!current_folder(here, sizeof here)) return false;
        folder = here;
    }
    *base = strlen(folder);
    return snprintf(to, size, "%s/%s", folder, name) < static_cast<int>(size);
}

int make_folders(const char* path, size_t base) {
    char copy[kLongestPath];
    const char* const last = strrchr(path, '/');
    if (last == nullptr || strlen(path) >= sizeof copy) return ENAMETOOLONG;
    memcpy(copy, path, static_cast<size_t>(last - path));
    copy[last - path] = '\0';
    int folder = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    char* rest = nullptr;
    for (char* name = strtok_r(copy, "/", &rest); name != nullptr && folder >= 0;
         name = strtok_r(nullptr, "/", &rest))
        folder = enter_or_make(folder, name, name >= copy + base);
    if (folder < 0) return errno;
    close(folder);
    return 0;
}

bool is_folder(const char* path) {
    struct stat facts;
    if (status_of_link(path, &facts) != 0) return false;
    if (S_ISDIR(facts.st_mode)) return true;
    const bool trusted = S_ISLNK(facts.st_mode) && (facts.st_uid == geteuid() || facts.st_uid == 0);
    return trusted && status_of(path, &facts) == 0 && S_ISDIR(facts.st_mode);
}

const char* special_file(const char* path) {
    struct stat facts;
    if (status_of(path, &facts) != 0) return nullptr;
    if (S_ISCHR(facts.st_mode) || S_ISBLK(facts.st_mode)) return "is a device";
    if (S_ISFIFO(facts.st_mode)) return "is a FIFO";
    return S_ISSOCK(facts.st_mode) ? "is a socket" : nullptr;
}

}  // namespace gpushim::shim
