// Logs what libgpushim.so does to the files of its trace, so that test/faults/power_loss.py can make them
// anew as a disk may leave them when the power goes at any moment. Preloaded behind the shim. All else
// passes.
//
//   LOG_OF    the trace; its companions are PATH-wal, PATH-journal; its folder is synced, too
//   LOG_INTO  the log: records, each followed by `size` bytes where it is a write
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum Op { kWrite = 1, kTruncate, kSync, kUnlink };
enum { kFiles = 3, kFolder = kFiles, kNone = -1 };
static const char* const kSuffixes[kFiles] = {"", "-wal", "-journal"};

struct Record {
    uint32_t op, file;
    int64_t at, size, mono_ns;
};

static const char* trace;

static int is_its_folder(const char* path) {
    const size_t length = (size_t)(strrchr(trace, '/') - trace);
    return strlen(path) == length && strncmp(path, trace, length) == 0;
}

static int which(const char* path) {
    if (trace == NULL) return kNone;
    if (is_its_folder(path)) return kFolder;
    if (strncmp(path, trace, strlen(trace)) != 0) return kNone;
    for (int i = 0; i < kFiles; ++i)
        if (strcmp(path + strlen(trace), kSuffixes[i]) == 0) return i;
    return kNone;
}

__attribute__((constructor(101))) static void begin(void) { trace = getenv("LOG_OF"); }

// The writer has descriptors of its own: the log is opened anew for each record. One thread writes at a time.
static void note(enum Op op, int file, int64_t at, int64_t size, const void* bytes) {
    struct timespec now;
    if (file == kNone) return;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const struct Record record = {op, (uint32_t)file, at, size, now.tv_sec * 1000000000LL + now.tv_nsec};
    const int log = open(getenv("LOG_INTO"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (log < 0 || write(log, &record, sizeof record) != sizeof record) abort();
    if (op == kWrite && write(log, bytes, (size_t)size) != size) abort();
    close(log);
}

// Which of the trace's files a descriptor is.
static int of(int descriptor) {
    char link[64], path[1024];
    const char digits[] = "/proc/thread-self/fd/";
    size_t end = sizeof digits - 1;
    memcpy(link, digits, end);
    int divisor = 1;
    while (descriptor / divisor >= 10) divisor *= 10;
    for (; divisor > 0; divisor /= 10) link[end++] = (char)('0' + descriptor / divisor % 10);
    link[end] = '\0';
    const ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return kNone;
    path[length] = '\0';
    return which(path);
}

#define REAL(name, Type) ((Type)dlsym(RTLD_NEXT, name))

ssize_t pwrite64(int file, const void* bytes, size_t size, off64_t at) {
    typedef ssize_t (*Write)(int, const void*, size_t, off64_t);
    const ssize_t written = REAL("pwrite64", Write)(file, bytes, size, at);
    if (written > 0) note(kWrite, of(file), at, written, bytes);
    return written;
}
int ftruncate64(int file, off64_t size) {
    const int result = (int)syscall(SYS_ftruncate, file, size);
    if (result == 0) note(kTruncate, of(file), size, 0, NULL);
    return result;
}
int fsync(int file) {
    const int result = (int)syscall(SYS_fsync, file);
    if (result == 0) note(kSync, of(file), 0, 0, NULL);
    return result;
}
int fdatasync(int file) {
    const int result = (int)syscall(SYS_fdatasync, file);
    if (result == 0) note(kSync, of(file), 0, 0, NULL);
    return result;
}
int unlink(const char* path) {
    const int result = (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    if (result == 0) note(kUnlink, which(path), 0, 0, NULL);
    return result;
}
