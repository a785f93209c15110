// Ways of making processes while other threads use the GPU.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "way.h"

static std::atomic<bool> stop;
static std::atomic<long> copies;

static void* copy_until_told(void*) {
    must(cuCtxSetCurrent(host_context) == CUDA_SUCCESS, "current");
    for (; !stop; copies += 10) {
        copy(10);
        usleep(500);  // else a busy machine makes millions of them
    }
    return nullptr;
}

// What a child calls goes nowhere near its parent's rings; it has 20 s.
static int dark_child() {
    alarm(20);
    CUdeviceptr address;
    CUcontext context;
    for (int i = 0; i < 20; ++i) {
        cuMemHostGetDevicePointer_v2(&address, nullptr, 0);
        cuCtxPopCurrent_v2(&context);
    }
    return 7;
}

// The locks that a child may find held: of the allocator, of the loader, of streams, of exit handlers.
static void take_every_lock() {
    alarm(20);
    for (size_t size = 16; size < 1 << 20; size *= 2) free(malloc(size));
    must(dlsym(RTLD_DEFAULT, "no_such_name") == nullptr, "dlsym");
    must(dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD) != nullptr, "dlopen");
    must(setenv("WHO", "child", 1) == 0 && getenv("WHO") != nullptr, "environment");
    FILE* file = fopen("/dev/null", "w");
    fprintf(file, "a child\n");
    fclose(file);
    exit(dark_child());
}

static void wait_for(pid_t child, int expected) {
    int status = 0;
    must(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status), "a child did not exit");
    must(WEXITSTATUS(status) == expected, "a child's status");
}

static void while_a_thread_copies(void (*make_child)()) {
    pthread_t thread;
    open_gpu();
    pthread_create(&thread, nullptr, copy_until_told, nullptr);
    for (int i = 0; i < host_number; ++i) make_child();
    stop = true;
    pthread_join(thread, nullptr);
    printf("%d children\n", host_number);
    FILE* file = fopen(host_text, "w");  // how many copies there were differs from run to run
    if (file != nullptr) fprintf(file, "%ld", copies.load()), fclose(file);
}

WAY(children) {
    while_a_thread_copies([] {
        const pid_t child = fork();
        if (child == 0) _exit(dark_child());
        wait_for(child, 7);
    });
}

WAY(children_that_lock) {
    while_a_thread_copies([] {
        const pid_t child = fork();
        if (child == 0) take_every_lock();
        wait_for(child, 7);
    });
}

WAY(spawned) {
    while_a_thread_copies([] {
        static char name[] = "true";
        static char* const words[] = {name, nullptr};
        pid_t child = 0;
        must(posix_spawn(&child, "/bin/true", nullptr, nullptr, words, environ) == 0, "posix_spawn");
        wait_for(child, 0);
    });
}

// --- handlers ---------------------------------------------------------------------------------------------

static char order[32];

static void note(char letter) {
    const size_t length = strlen(order);
    if (length + 1 < sizeof order) order[length] = letter;
    CUcontext context;
    cuCtxGetCurrent(&context);  // a hooked call, in the middle of a fork
}

static void before_first() { note('a'); }
static void before_second() { note('b'); }
static void parent_first() { note('c'); }
static void parent_second() { note('d'); }
static void child_first() { note('e'), free(malloc(100)); }
static void child_second() { note('f'); }

// Handlers that call the driver, registered before and after recording began.
WAY(fork_handlers) {
    pthread_atfork(before_first, parent_first, child_first);
    open_gpu();
    pthread_atfork(before_second, parent_second, child_second);
    for (int i = 0; i < host_number; ++i) {
        memset(order, 0, sizeof order);
        fflush(stdout);
        const pid_t child = fork();
        if (child == 0) {
            printf("child %s\n", order);
            exit(dark_child());
        }
        wait_for(child, 7);
        printf("parent %s\n", order);
        copy(10);
    }
}

// --- other programs ---------------------------------------------------------------------------------------

// Twice forked, a session of its own, no descriptor of ours left; says that it is done by a file.
WAY(daemon) {
    const pid_t child = fork();
    if (child == 0) {
        setsid();
        if (fork() != 0) _exit(7);
        for (int file = 0; file < 1024; ++file) close(file);
        open("/dev/null", O_RDWR), dup(0), dup(0);
        open_gpu();
        copy(host_number);
        FILE* done = fopen("done.new", "w");
        fprintf(done, "%d copies\n", host_number);
        fclose(done);
        exit(rename("done.new", "done"));
    }
    wait_for(child, 7);
    for (int i = 0; i < 3000 && access("done", F_OK) != 0; ++i) usleep(10000);
    must(access("done", F_OK) == 0, "the daemon");
    // Its exit handlers, too: its trace is whole when the name of its process is gone.
    usleep(300000);
    printf("a daemon\n");
}

// Itself, NUMBER times, each time with work under way.
WAY(execs) {
    open_gpu();
    copy(100);
    printf("%d\n", host_number);
    fflush(stdout);
    if (host_number == 0) return;
    char text[16];
    snprintf(text, sizeof text, "%d", host_number - 1);
    execl(host_program, host_program, "execs", text, static_cast<char*>(nullptr));
}
