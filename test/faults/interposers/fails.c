// Fails the nth call of one kind that libgpushim.so makes, and only that: preloaded behind it, these stand
// before the C library's. A call is the shim's when it returns into libgpushim.so (SQLite and libstdc++ are
// part of it), or into the C library or the loader on a thread that the shim has made (fopen's malloc).
// Not reached: what the C library does by system calls of its own (opendir's open, a thread's stack), and the
// line on stderr, which says what has failed.
//
//   FAIL_KIND   open, write, sync, fallocate, mmap, malloc, new (a malloc of C++'s operator new) or thread
//   FAIL_NEW    where that operator lies in the library: two offsets
//   FAIL_AT     the nth call fails; 0: none, they are only counted
//   FAIL_ON     "once", or "ever": from then on all of that kind
//   FAIL_ERRNO  the number; 0 of `write`: half of it is written
//   FAIL_COUNTS a file: its two 64-bit words become the calls seen and the calls failed
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum Kind { kOpen, kWrite, kSync, kFallocate, kMmap, kMalloc, kNew, kThread, kKinds };
static const char* const kNames[kKinds] = {"open", "write",  "sync", "fallocate",
                                           "mmap", "malloc", "new",  "thread"};

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);

static struct Span { uintptr_t begin, end; } shim, libc, loader, operator_new;
static int kind = -1;
static uint64_t fail_at;
static int ever, error_number;
static struct { _Atomic uint64_t seen, failed; } none, *counts = &none;
static __thread int thread_of_shim __attribute__((tls_model("initial-exec")));

// The C library's syscall() is one of those that stand here.
static long raw(long number, long a, long b, long c, long d, long e, long f) {
#if defined(__x86_64__)
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result = number;
    __asm__ volatile("syscall"
                     : "+a"(result)
                     : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
#else
    register long x8 __asm__("x8") = number;
    register long result __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0"
                     : "+r"(result)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
#endif
    if (result >= 0 || result < -4095) return result;
    errno = (int)-result;
    return -1;
}
#define CALL3(number, a, b, c) raw(number, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define CALL6(number, a, b, c, d, e, f) \
    raw(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

static int note_span(struct dl_phdr_info* info, size_t size, void* nothing) {
    (void)size, (void)nothing;
    const char* name = strrchr(info->dlpi_name, '/');
    struct Span* span = name == NULL                          ? NULL
                        : strcmp(name, "/libgpushim.so") == 0 ? &shim
                        : strncmp(name, "/libc.so", 8) == 0   ? &libc
                        : strncmp(name, "/ld-linux", 9) == 0  ? &loader
                                                              : NULL;
    if (span == NULL) return 0;
    span->begin = UINTPTR_MAX;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr)* part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD) continue;
        const uintptr_t begin = info->dlpi_addr + part->p_vaddr;
        if (begin < span->begin) span->begin = begin;
        if (begin + part->p_memsz > span->end) span->end = begin + part->p_memsz;
    }
    return 0;
}

static uint64_t number_of(const char* name) {
    const char* text = getenv(name);
    return text == NULL ? 0 : strtoull(text, NULL, 10);
}

// Of libraries that need nothing of each other the last in the list is the first to begin.
__attribute__((constructor(101))) static void begin(void) {
    const char* wanted = getenv("FAIL_KIND");
    const char* file = getenv("FAIL_COUNTS");
    const char* on = getenv("FAIL_ON");
    if (wanted == NULL) return;
    dl_iterate_phdr(note_span, NULL);
    fail_at = number_of("FAIL_AT");
    error_number = (int)number_of("FAIL_ERRNO");
    ever = on != NULL && strcmp(on, "ever") == 0;
    const long descriptor = file == NULL ? -1 : CALL3(SYS_openat, AT_FDCWD, file, O_RDWR);
    if (descriptor >= 0) {
        void* memory =
            (void*)CALL6(SYS_mmap, 0, sizeof none, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
        if (memory != MAP_FAILED) counts = memory;
        CALL3(SYS_close, descriptor, 0, 0);
    }
    for (int i = 0; i < kKinds; ++i)
        if (strcmp(wanted, kNames[i]) == 0) kind = i;
    const char* offsets = getenv("FAIL_NEW");
    if (offsets != NULL) {
        char* rest = NULL;
        operator_new.begin = shim.begin + strtoull(offsets, &rest, 10);
        operator_new.end = shim.begin + strtoull(rest, NULL, 10);
    }
}

static int within(struct Span span, uintptr_t address) { return address >= span.begin && address < span.end; }

static int is_of_shim(void* caller) {
    const uintptr_t address = (uintptr_t)caller;
    return within(shim, address) || (thread_of_shim && (within(libc, address) || within(loader, address)));
}

static int fails(enum Kind which, void* caller) {
    if (kind == kNew && which == kMalloc && within(operator_new, (uintptr_t)caller)) which = kNew;
    if ((int)which != kind || !is_of_shim(caller)) return 0;
    const uint64_t nth = atomic_fetch_add(&counts->seen, 1) + 1;
    if (fail_at == 0 || (ever ? nth < fail_at : nth != fail_at)) return 0;
    atomic_fetch_add(&counts->failed, 1);
    errno = error_number;
    return 1;
}
#define FAILS(which) fails(which, __builtin_return_address(0))

// --- files ------------------------------------------------------------------------------------------------

static int mode_of(int flags, va_list more) {
    return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, int) : 0;
}

#define OPEN(name)                                                        \
    int name(const char* path, int flags, ...) {                          \
        va_list more;                                                     \
        va_start(more, flags);                                            \
        const int mode = mode_of(flags, more);                            \
        va_end(more);                                                     \
        if (FAILS(kOpen)) return -1;                                      \
        return (int)CALL6(SYS_openat, AT_FDCWD, path, flags, mode, 0, 0); \
    }
OPEN(open)
OPEN(open64)

int openat(int folder, const char* path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    const int mode = mode_of(flags, more);
    va_end(more);
    if (FAILS(kOpen)) return -1;
    return (int)CALL6(SYS_openat, folder, path, flags, mode, 0, 0);
}

// With no error half of it is written: a short write.
static size_t of_failed_write(size_t size) { return error_number == 0 ? size / 2 : 0; }

ssize_t pwrite64(int file, const void* bytes, size_t size, off64_t at) {
    if (FAILS(kWrite) && (size = of_failed_write(size)) == 0) return -1;
    return CALL6(SYS_pwrite64, file, bytes, size, at, 0, 0);
}
int ftruncate64(int file, off64_t size) {
    if (error_number != 0 && FAILS(kWrite)) return -1;
    return (int)CALL3(SYS_ftruncate, file, size, 0);
}
int fsync(int file) { return FAILS(kSync) ? -1 : (int)CALL3(SYS_fsync, file, 0, 0); }
int fdatasync(int file) { return FAILS(kSync) ? -1 : (int)CALL3(SYS_fdatasync, file, 0, 0); }

long syscall(long number, ...) {
    va_list more;
    va_start(more, number);
    long a[6];
    for (int i = 0; i < 6; ++i) a[i] = va_arg(more, long);
    va_end(more);
    if (number == SYS_openat && FAILS(kOpen)) return -1;
    if (number == SYS_fallocate && FAILS(kFallocate)) return -1;
    return raw(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

// --- memory and threads -----------------------------------------------------------------------------------

static void* map(void* at, size_t size, int access, int flags, int file, off64_t from, void* caller) {
    if (fails(kMmap, caller)) return MAP_FAILED;
    return (void*)CALL6(SYS_mmap, at, size, access, flags, file, from);
}
void* mmap(void* at, size_t size, int access, int flags, int file, off_t from) {
    return map(at, size, access, flags, file, from, __builtin_return_address(0));
}
void* mmap64(void* at, size_t size, int access, int flags, int file, off64_t from) {
    return map(at, size, access, flags, file, from, __builtin_return_address(0));
}
void* mremap(void* at, size_t old_size, size_t size, int flags, ...) {
    va_list more;
    va_start(more, flags);
    void* to = (flags & MREMAP_FIXED) != 0 ? va_arg(more, void*) : NULL;
    va_end(more);
    if (FAILS(kMmap)) return MAP_FAILED;
    return (void*)CALL6(SYS_mremap, at, old_size, size, flags, to, 0);
}

void* malloc(size_t size) { return FAILS(kMalloc) ? NULL : __libc_malloc(size); }
void* calloc(size_t count, size_t size) { return FAILS(kMalloc) ? NULL : __libc_calloc(count, size); }
void* realloc(void* old, size_t size) { return FAILS(kMalloc) ? NULL : __libc_realloc(old, size); }
void* aligned_alloc(size_t to, size_t size) { return FAILS(kMalloc) ? NULL : __libc_memalign(to, size); }

struct Start {
    void* (*main)(void*);
    void* argument;
};
static void* begin_thread_of_shim(void* given) {
    const struct Start start = *(struct Start*)given;
    free(given);
    thread_of_shim = 1;
    return start.main(start.argument);
}
int pthread_create(pthread_t* thread, const pthread_attr_t* how, void* (*main)(void*), void* argument) {
    typedef int (*Create)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    const Create create = (Create)dlsym(RTLD_NEXT, "pthread_create");
    if (!is_of_shim(__builtin_return_address(0))) return create(thread, how, main, argument);
    if (FAILS(kThread)) return error_number;
    struct Start* start = __libc_malloc(sizeof *start);
    *start = (struct Start){main, argument};
    return create(thread, how, begin_thread_of_shim, start);
}
