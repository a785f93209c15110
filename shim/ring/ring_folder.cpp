#include "ring_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "../base/file_status.h"
#include "../base/protection.h"
#include "../base/system.h"

namespace gpushim::shim {
namespace {

constexpr int kFolder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr char kLockName[] = "lock";

bool is_ours_alone(int folder) {
    if (!kept(Protection::own_folder)) return true;
    struct stat facts;
    return status_of(folder, &facts) == 0 && facts.st_uid == geteuid() && (facts.st_mode & 077) == 0;
}

int open_own_folder(int parent, const char* name, bool create) {
    const bool made = create && mkdirat(parent, name, 0700) == 0;
    const int folder = openat(parent, name, kFolder);
    if (folder < 0) {
        if (made) unlinkat(parent, name, AT_REMOVEDIR);
        return -1;
    }
    // The umask may have taken away more than was wanted.
    if (made) fchmod(folder, 0700);
    if (is_ours_alone(folder)) return folder;
    close(folder);
    return -1;
}

struct flock whole_file(short type) {
    struct flock lock = {};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    return lock;
}

bool is_dot(const char* name) { return name[0] == '.' && (name[1] == '\0' || name[1] == '.'); }

// Calls with each entry's name; takes the descriptor over.
template <class Function>
void for_each_entry(int folder, Function function) {
    DIR* entries = folder < 0 ? nullptr : fdopendir(folder);
    if (entries == nullptr) return;
    while (const dirent* entry = readdir(entries))
        if (!is_dot(entry->d_name)) function(entry->d_name);
    closedir(entries);
}

}  // namespace

int open_user_folder(const char* root, bool create) {
    const int parent = open(root, kFolder);
    if (parent < 0) return -1;
    char name[32];
    snprintf(name, sizeof name, "gpushim-%u", static_cast<unsigned>(geteuid()));
    const int folder = open_own_folder(parent, name, create);
    close(parent);
    return folder;
}

void trace_folder_name(char (&name)[33], const uint8_t trace_uuid[16]) {
    for (size_t i = 0; i < 16; ++i) snprintf(&name[2 * i], 3, "%02x", trace_uuid[i]);
}

int open_trace_folder(int user_folder, const uint8_t trace_uuid[16], bool create) {
    char name[33];
    trace_folder_name(name, trace_uuid);
    return open_own_folder(user_folder, name, create);
}

int lock_trace_folder(int trace_folder) {
    const int file = openat(trace_folder, kLockName, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0) return -1;
    fchmod(file, 0600);
    struct flock lock = whole_file(F_WRLCK);
    if (fcntl(file, F_SETLK, &lock) == 0) return file;
    close(file);
    return -1;
}

namespace {

// What keeps it from being locked; F_UNLCK: nothing.
struct flock holder_lock(int trace_folder) {
    struct flock lock = whole_file(F_WRLCK);
    const int file = openat(trace_folder, kLockName, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0 || fcntl(file, F_GETLK, &lock) != 0) lock.l_type = F_UNLCK;
    if (file >= 0) close(file);
    return lock;
}

}  // namespace

bool is_held(int trace_folder) { return holder_lock(trace_folder).l_type != F_UNLCK; }

int32_t holder_of(int trace_folder) {
    const struct flock lock = holder_lock(trace_folder);
    return lock.l_type == F_UNLCK ? 0 : lock.l_pid;
}

void ring_name(char (&name)[kRingNameBytes], uint64_t ring_id) {
    snprintf(name, sizeof name, "ring-%llu", static_cast<unsigned long long>(ring_id));
}

void remove_trace_folder(int user_folder, const char* name) {
    const int folder = openat(user_folder, name, kFolder);
    if (folder < 0) return;
    for_each_entry(dup(folder), [&](const char* entry) { unlinkat(folder, entry, 0); });
    close(folder);
    unlinkat(user_folder, name, AT_REMOVEDIR);
}

}  // namespace gpushim::shim
