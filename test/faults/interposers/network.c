// A network file system under the trace: statfs says NFS of all but /dev/shm, and what does not work there
// from several hosts fails: memory shared through its files, locks of their bytes. Behind libgpushim.so.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { kNfs = 0x6969 };

int statfs(const char* path, struct statfs* facts) {
    typedef int (*Statfs)(const char*, struct statfs*);
    const int result = ((Statfs)dlsym(RTLD_NEXT, "statfs"))(path, facts);
    if (result == 0 && strncmp(path, "/dev/shm", 8) != 0) facts->f_type = kNfs;
    return result;
}

static int is_of_trace(int file) {
    char link[64], path[1024];
    snprintf(link, sizeof link, "/proc/thread-self/fd/%d", file);
    const ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = '\0';
    return strstr(path, "/trace.") != NULL;
}

void* mmap64(void* at, size_t size, int access, int flags, int file, off64_t from) {
    typedef void* (*Map)(void*, size_t, int, int, int, off64_t);
    if (file >= 0 && (flags & MAP_SHARED) != 0 && is_of_trace(file)) return errno = ENODEV, MAP_FAILED;
    return ((Map)dlsym(RTLD_NEXT, "mmap64"))(at, size, access, flags, file, from);
}

int fcntl64(int file, int what, ...) {
    va_list more;
    va_start(more, what);
    void* argument = va_arg(more, void*);
    va_end(more);
    typedef int (*Control)(int, int, ...);
    if ((what == F_SETLK || what == F_SETLKW) && is_of_trace(file)) return errno = ENOLCK, -1;
    return ((Control)dlsym(RTLD_NEXT, "fcntl64"))(file, what, argument);
}
