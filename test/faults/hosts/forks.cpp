// Ways of forking while other threads use the GPU.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>

#include "way.h"

static std::atomic<bool> stop;

static void* copy_until_told(void*) {
    must(cuCtxSetCurrent(host_context) == CUDA_SUCCESS, "current");
    while (!stop) copy(1);
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

static void wait_for(pid_t child, int expected) {
    int status = 0;
    must(waitpid(child, &status, 0) == child && WIFEXITED(status), "a child did not exit");
    must(WEXITSTATUS(status) == expected, "a child's status");
}

// NUMBER children, one after the other, while a thread copies.
WAY(children) {
    pthread_t thread;
    open_gpu();
    pthread_create(&thread, nullptr, copy_until_told, nullptr);
    for (int i = 0; i < host_number; ++i) {
        const pid_t child = fork();
        if (child == 0) _exit(dark_child());
        wait_for(child, 7);
    }
    stop = true;
    pthread_join(thread, nullptr);
    printf("%d children\n", host_number);
}
