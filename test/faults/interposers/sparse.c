// A file system that says it has room and has not: fallocate only makes the file as long as was asked for, as
// copy-on-write ones may. Preloaded behind libgpushim.so; only its fallocate comes by syscall().
#include <dlfcn.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

long syscall(long number, ...) {
    va_list more;
    va_start(more, number);
    long a[6];
    for (int i = 0; i < 6; ++i) a[i] = va_arg(more, long);
    va_end(more);
    if (number == SYS_fallocate) return ftruncate((int)a[0], a[3]);
    typedef long (*Syscall)(long, ...);
    return ((Syscall)dlsym(RTLD_NEXT, "syscall"))(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
