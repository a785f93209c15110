// A disk that takes 2 ms for each page of the trace. Behind libgpushim.so, which alone writes by pwrite64.
#include <sys/syscall.h>
#include <unistd.h>

ssize_t pwrite64(int file, const void* bytes, size_t size, off64_t at) {
    if (size > 1024) usleep(2000);
    return syscall(SYS_pwrite64, file, bytes, size, at);
}
