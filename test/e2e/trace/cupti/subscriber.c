// Launches, and subscribes to CUPTI itself: subscriber before|after. Before its context is made, so that the
// shim finds it there; or after so much work that the shim has been first.
#include "one_gpu.h"

#include <dlfcn.h>
#include <string.h>

extern void gpusim_advance_ns(unsigned long ns);

static void on_call(void* data, int domain, unsigned id, const void* call) {
    (void)data, (void)domain, (void)id, (void)call;
}

static void subscribe(void) {
    void* library = dlopen("libcupti.so.13", RTLD_NOW);
    int (*subscribe)(void**, void (*)(void*, int, unsigned, const void*), void*) = NULL;
    if (library != NULL) *(void**)&subscribe = dlsym(library, "cuptiSubscribe");
    void* subscriber = NULL;
    printf("subscribed: %d\n", subscribe != NULL ? subscribe(&subscriber, on_call, NULL) : -1);
}

int main(int count, char** words) {
    const int is_first = count > 1 && strcmp(words[1], "before") == 0;
    MUST(cuInit(0));
    if (is_first) subscribe();
    open_gpu();
    const CUfunction kernel = kernel_of("busy__2us");
    for (int i = 0; i < 1000; ++i) {
        launch_one(kernel, NULL);
        gpusim_advance_ns(100000);
    }
    if (!is_first) subscribe();
    MUST(cuCtxSynchronize());
    return 0;
}
