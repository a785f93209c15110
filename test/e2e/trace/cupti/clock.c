// Launches, and registers another clock for CUPTI's records after half of its work, as a second tool in the
// process would: clock shared|fast|passing. shared: the box's time, not the calendar's. fast: a counter that
// takes three steps in a nanosecond. passing: the counter for five launches, then the calendar again.
#include "one_gpu.h"

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

extern void gpusim_advance_ns(unsigned long ns);
extern void gpushim_test_clock(uint64_t* mono_ns, uint64_t* real_ns);

static uint64_t of_box(void) {
    uint64_t mono_ns, real_ns;
    gpushim_test_clock(&mono_ns, &real_ns);
    return mono_ns;
}

static uint64_t of_calendar(void) {
    uint64_t mono_ns, real_ns;
    gpushim_test_clock(&mono_ns, &real_ns);
    return real_ns;
}

static uint64_t of_counter(void) { return 3 * of_box(); }

static void take(uint64_t (*clock)(void)) {
    void* library = dlopen("libcupti.so.13", RTLD_NOW);
    int (*take)(uint64_t(*)(void)) = NULL;
    if (library != NULL) *(void**)&take = dlsym(library, "cuptiActivityRegisterTimestampCallback");
    if (take == NULL || take(clock) != 0) exit(8);
}

static void launch(CUfunction kernel, int times) {
    for (int i = 0; i < times; ++i) {
        launch_one(kernel, NULL);
        gpusim_advance_ns(100000);
    }
}

int main(int count, char** words) {
    const char* which = count > 1 ? words[1] : "shared";
    open_gpu();
    const CUfunction kernel = kernel_of("busy__2us");
    launch(kernel, 1000);
    take(strcmp(which, "shared") == 0 ? of_box : of_counter);
    if (strcmp(which, "passing") == 0) {
        launch(kernel, 5);
        take(of_calendar);
    }
    launch(kernel, 1000);
    MUST(cuCtxSynchronize());
    return 0;
}
