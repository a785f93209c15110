// Ways of ending, and what runs late.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "way.h"

struct Late {
    bool is_wanted = false;
    ~Late() {
        if (!is_wanted) return;
        CUcontext current;
        printf("late %d\n", static_cast<int>(cuCtxGetCurrent(&current)));
        printf("late %d\n", static_cast<int>(cuMemFree_v2(0)));
    }
};
static Late late;  // made before main, so destroyed after what main registers

WAY(copies) {
    open_gpu();
    copy(host_number);
    printf("%d copies\n", host_number);
}

// Closes what it has not opened, 400 ms after all of that is there, and goes on.
WAY(closes) {
    open_gpu();
    copy(100);
    usleep(400000);
    syscall(SYS_close_range, 3, ~0U, 0);
    for (int i = 0; i < 60; ++i) must(open("mine", O_RDWR | O_CREAT, 0600) >= 0, "file");
    copy(10);
    usleep(400000);
    copy(host_number);
    printf("%d copies\n", host_number);
}

// In the middle of it, with events under way, makes a file: the sign for a disk to hang.
WAY(hangs) {
    open_gpu();
    copy(5000);
    must(open("stuck", O_RDWR | O_CREAT, 0600) >= 0, "file");
    copy(host_number);
    printf("%d copies\n", host_number);
}

WAY(destructors) {
    late.is_wanted = true;
    open_gpu();
    copy(100);
}

// --- threads that end -------------------------------------------------------------------------------------

struct CopiesAtTheEnd {
    int times = 0;
    ~CopiesAtTheEnd() { copy(times); }
};
static thread_local CopiesAtTheEnd at_the_end;
static pthread_key_t key;

static void copy_by_key(void* rounds) {
    copy(3);
    const long left = reinterpret_cast<long>(rounds) - 1;
    if (left > 0) pthread_setspecific(key, reinterpret_cast<void*>(left));
}

static void* leaves_work_behind(void*) {
    copy_seven(nullptr);
    at_the_end.times = 2;
    pthread_setspecific(key, reinterpret_cast<void*>(2L));
    return nullptr;
}

// Of each thread: 7 copies, 2 in a C++ destructor, 3 in each of two rounds of key destructors.
WAY(thread_destructors) {
    open_gpu();
    pthread_key_create(&key, copy_by_key);
    for (int i = 0; i < host_number; ++i) {
        pthread_t thread;
        must(pthread_create(&thread, nullptr, leaves_work_behind, nullptr) == 0, "thread");
        pthread_join(thread, nullptr);
    }
    printf("%d threads\n", host_number);
}

// --- signals ----------------------------------------------------------------------------------------------

// A program that takes its signals by sigwait: no other thread may.
WAY(sigwait) {
    sigset_t mine;
    sigemptyset(&mine);
    sigaddset(&mine, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &mine, nullptr);
    open_gpu();
    pthread_sigmask(SIG_UNBLOCK, &mine, nullptr);
    usleep(static_cast<useconds_t>(1000 * host_number));  // threads that come later are there
    pthread_sigmask(SIG_BLOCK, &mine, nullptr);
    for (int i = 0; i < 100; ++i) {
        int number = 0;
        copy(10);
        must(kill(getpid(), SIGUSR1) == 0 && sigwait(&mine, &number) == 0 && number == SIGUSR1, "sigwait");
    }
    printf("100 signals\n");
}

// NUMBER megabytes, more than it may have: the kernel ends it.
WAY(eats_memory) {
    open_gpu();
    copy(100);
    printf("copied\n");
    fflush(stdout);
    constexpr size_t kSome = 1 << 20;
    for (int i = 0; i < host_number; ++i) memset(malloc(kSome), 1, kSome);
}

// Waits for a line on its input between two pieces of work, of which the second is NUMBER copies.
WAY(pauses) {
    open_gpu();
    copy(100);
    printf("copied\n");
    fflush(stdout);
    getchar();
    copy(host_number);
    printf("copied again\n");
}
