// A CUDA program that begins, forks and ends in many ways: host WAY [NUMBER]. Each way prints what it has
// done, so that its output can be compared with and without the shim.
#include <cuda.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_close_range  // headers before Linux 5.9
#define SYS_close_range 436
#endif

enum { kCopies = 100, kChildren = 60, kFiles = 60 };

static CUcontext context;
static CUdeviceptr memory;
static char* program;
static int number;

static void must(int failed, const char* what) {
    if (!failed) return;
    printf("failed: %s\n", what);
    fflush(stdout);
    _exit(9);
}

static void open_gpu(void) {
    must(cuInit(0) || cuCtxCreate_v4(&context, 0, 0, 0) || cuMemAlloc_v2(&memory, 4096), "context");
}

static void copy(int times) {
    char host[64] = {0};
    for (int i = 0; i < times; ++i) must(cuMemcpyHtoD_v2(memory, host, sizeof host), "copy");
}

static void work(void) {
    open_gpu();
    copy(kCopies);
    printf("copied\n");
    fflush(stdout);
}

// --- ends -------------------------------------------------------------------------------------------------

static void* exit_here(void* nothing) {
    (void)nothing;
    exit(3);
}

static void end_return(void) { work(); }
static void end_exit(void) { work(), exit(4); }
static void end_exit_in_thread(void) {
    pthread_t thread;
    work();
    pthread_create(&thread, 0, exit_here, 0);
    pthread_join(thread, 0);
}
static void* copy_late(void* nothing) {
    (void)nothing;
    usleep(400000);
    must(cuCtxSetCurrent(context), "current");
    copy(kCopies);
    return 0;
}
static void end_pthread_exit(void) {
    pthread_t thread;
    work();
    pthread_create(&thread, 0, copy_late, 0);
    pthread_exit(0);
}
static void end_underscore_exit(void) { work(), _exit(5); }
static void end_quick_exit(void) { work(), quick_exit(6); }
static void end_signal(void) { work(), raise(number), pause(); }
static void end_abort(void) { work(), abort(); }
static void end_exec(void) {
    work();
    execl(program, program, "return", (char*)0);
}

static void call_late(void) { printf("late %d\n", cuMemFree_v2(memory)); }
static void end_late_call(void) {
    atexit(call_late);
    work();
}

// --- children
// -----------------------------------------------------------------------------------------------

static volatile int stop;
static void* copy_on(void* copies) {
    must(cuCtxSetCurrent(context), "current");
    for (; !stop; ++*(long*)copies) copy(1);
    return 0;
}

static pid_t plain_fork(void) { return fork(); }
// The C library has it since 2.34; before, the kernel's own does as much.
extern pid_t _Fork(void) __attribute__((weak));
static pid_t bare_fork(void) { return _Fork ? _Fork() : (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); }
static pid_t raw_clone(void) { return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); }

// Each child calls what is hooked, without using the GPU, and ends as a worker does.
static void many_children(pid_t (*make)(void)) {
    long copies = 0;
    pthread_t thread;
    open_gpu();
    pthread_create(&thread, 0, copy_on, &copies);
    for (int i = 0; i < kChildren; ++i) {
        const pid_t child = make();
        if (child == 0) {
            alarm(20);
            for (int call = 0; call < 100; ++call)
                cuMemHostGetDevicePointer_v2(0, 0, 0), cuCtxPopCurrent_v2(0);
            _exit(7);
        }
        int status = 0;
        must(waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 7, "child");
    }
    stop = 1;
    pthread_join(thread, 0);
    fprintf(stderr, "%ld\n", copies);
    printf("%d children\n", kChildren);
}
static void child_fork(void) { many_children(plain_fork); }
static void child_bare_fork(void) { many_children(bare_fork); }
static void child_clone(void) { many_children(raw_clone); }
static void child_vfork(void) {
    work();
    for (int i = 0; i < kChildren; ++i) {
        const pid_t child = vfork();
        if (child == 0) execl("/bin/true", "true", (char*)0), _exit(1);
        int status = 1;
        must(waitpid(child, &status, 0) != child || status != 0, "child");
    }
    printf("%d children\n", kChildren);
}
// Forked before anybody uses the GPU: both do, on their own.
static void child_of_its_own(void) {
    const pid_t child = fork();
    if (child == 0) {
        work();
        exit(8);
    }
    int status = 0;
    must(waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 8, "child");
    work();
    copy(kCopies);
}
// A child that exits runs the handlers it has inherited.
static void child_exits(void) {
    work();
    for (int i = 0; i < 5; ++i) {
        const pid_t child = fork();
        if (child == 0) exit(8);
        int status = 0;
        must(waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 8, "child");
    }
    copy(kCopies);
}

// --- threads, descriptors, signals
// ------------------------------------------------------------------------------

static void* seven_copies(void* nothing) {
    (void)nothing;
    must(cuCtxSetCurrent(context), "current");
    copy(7);
    return 0;
}
static void short_threads(void) {
    open_gpu();
    for (int i = 0; i < number; i += 8) {
        pthread_t thread[8];
        for (int t = 0; t < 8; ++t) must(pthread_create(&thread[t], 0, seven_copies, 0), "thread");
        for (int t = 0; t < 8; ++t) pthread_join(thread[t], 0);
    }
    printf("%d threads\n", number);
}
static void tiny_stack(void) {
    pthread_attr_t attributes;
    pthread_t thread;
    open_gpu();
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 64 * 1024);
    must(pthread_create(&thread, &attributes, seven_copies, 0), "thread");
    pthread_join(thread, 0);
}

// Closes what it has not opened, and has files of its own under those numbers. Returns the first one's.
static int takes_numbers(void) {
    int file[kFiles];
    syscall(SYS_close_range, 3, ~0U, 0);
    for (int i = 0; i < kFiles; ++i) {
        char name[32];
        snprintf(name, sizeof name, "host.%d", i);
        file[i] = open(name, O_RDWR | O_CREAT, 0600);
        must(file[i] < 0 || write(file[i], "mine", 4) != 4, "file");
    }
    return file[0];
}
static void closes_everything(void) {
    work();
    usleep(1000 * number);
    const int first = takes_numbers();
    for (int i = 0; i < 20; ++i) {
        copy(kCopies);
        usleep(10000);
    }
    printf("first file: %d\n", first);
}
static void closes_at_the_end(void) {
    work();
    usleep(1000 * number);
    takes_numbers();
}
static void* lingers(void* nothing) { return usleep(600000), nothing; }
static void closes_and_leaves_a_thread(void) {
    pthread_t thread;
    work();
    usleep(1000 * number);
    must(pthread_create(&thread, 0, lingers, 0), "thread");
    takes_numbers();
    pthread_exit(0);
}
static atomic_int is_taken;
static void takes_them(void) { takes_numbers(), is_taken = 1; }
// In the middle of what a library of test_own_files.py sees written, which a busy machine meets by chance.
static void closes_within_a_write(void) {
    void (*_Atomic* within_a_write)(void) = dlsym(RTLD_DEFAULT, "within_a_write");
    work();
    within_a_write ? (void)(*within_a_write = takes_them) : takes_them();
    for (int i = 0; i < 2000 && !is_taken; ++i) usleep(10000);
    for (int i = 0; i < 40; ++i) {
        copy(number);
        usleep(10000);
    }
    printf("taken: %d\n", is_taken);
}
static void becomes_silent(void) {
    work();
    close(0), close(1), close(2);
    usleep(1000 * number);
    copy(kCopies);
}

static void show_signals(void) {
    for (int i = 1; i < 65; ++i) {
        struct sigaction action;
        if (sigaction(i, 0, &action) == 0 && action.sa_handler != SIG_DFL) printf("%d handled\n", i);
    }
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, 0, &mask);
    for (int i = 1; i < 65; ++i)
        if (sigismember(&mask, i) == 1) printf("%d blocked\n", i);
}
static volatile int ticks;
// Calls that this driver answers without a lock: what the handler interrupts may hold it.
static void tick(int signal) {
    (void)signal;
    ++ticks;
    cuCtxGetCurrent(0);
    cuEventQuery(0);
    cuCtxPopCurrent_v2(0);
}
static void has_signals(void) {
    const struct itimerval often = {{0, 200}, {0, 200}};
    signal(SIGALRM, tick);
    signal(SIGUSR1, SIG_IGN);
    work();
    show_signals();
    cuCtxPopCurrent_v2(0);
    setitimer(ITIMER_REAL, &often, 0);
    while (ticks < 200) copy(1);
    signal(SIGALRM, SIG_IGN);
}
static void keeps_errno(void) {
    work();
    errno = 77;
    copy(10000);
    printf("errno %d, error %s\n", errno, dlerror() == 0 ? "none" : "some");
}
static void shows_tasks(void) {
    work();
    printf("%d\n", system("cat /proc/$PPID/task/*/comm | sort"));
}
static void only_asks(void) {
    int count;
    must(cuInit(0) || cuDeviceGetCount(&count), "count");
    printf("%d devices\n", count);
    printf("%d\n", system("ls /proc/$PPID/task | wc -l"));
}
static void marks(void) {
    void (*step)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "gpushim_step");
    void (*step_n)(unsigned long) = (void (*)(unsigned long))dlsym(RTLD_DEFAULT, "gpushim_step_n");
    void (*mark)(const char*) = (void (*)(const char*))dlsym(RTLD_DEFAULT, "gpushim_mark");
    must(!step || !step_n || !mark, "symbols");
    mark("before anything is recorded");
    work();
    step();
    step_n(32);
    mark("half of it, and more than a slot's worth of text");
}

static const struct {
    const char* name;
    void (*go)(void);
} ways[] = {
    {"return", end_return},
    {"exit", end_exit},
    {"exit_in_thread", end_exit_in_thread},
    {"pthread_exit", end_pthread_exit},
    {"_exit", end_underscore_exit},
    {"quick_exit", end_quick_exit},
    {"signal", end_signal},
    {"abort", end_abort},
    {"exec", end_exec},
    {"late_call", end_late_call},
    {"fork", child_fork},
    {"_Fork", child_bare_fork},
    {"clone", child_clone},
    {"vfork", child_vfork},
    {"own_child", child_of_its_own},
    {"child_exits", child_exits},
    {"threads", short_threads},
    {"tiny_stack", tiny_stack},
    {"closes", closes_everything},
    {"closes_within_a_write", closes_within_a_write},
    {"closes_at_the_end", closes_at_the_end},
    {"closes_and_leaves_a_thread", closes_and_leaves_a_thread},
    {"silent", becomes_silent},
    {"signals", has_signals},
    {"errno", keeps_errno},
    {"tasks", shows_tasks},
    {"asks", only_asks},
    {"marks", marks},
};

int main(int count, char** words) {
    program = words[0];
    number = count > 2 ? atoi(words[2]) : 0;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i)
        if (count > 1 && strcmp(ways[i].name, words[1]) == 0) return ways[i].go(), 0;
    return 2;
}
