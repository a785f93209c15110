// Launches, and registers another clock for CUPTI's records after half of its work, as a second tool in the
// process would: clock shared|fast|passing. shared: the box's time, not the calendar's. fast: a counter that
// takes three steps in a nanosecond. passing: the counter for five launches, then the calendar again.
#include <cuda.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
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

static int take(uint64_t (*clock)(void)) {
    void* library = dlopen("libcupti.so.13", RTLD_NOW);
    int (*take)(uint64_t(*)(void)) = NULL;
    if (library != NULL) *(void**)&take = dlsym(library, "cuptiActivityRegisterTimestampCallback");
    return take == NULL || take(clock) != 0;
}

static int launch(CUfunction kernel, int times) {
    int failed = 0;
    for (int i = 0; i < times && !failed; ++i) {
        failed |= cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
        gpusim_advance_ns(100000);
    }
    return failed;
}

int main(int count, char** words) {
    const char* which = count > 1 ? words[1] : "shared";
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction kernel;
    int failed = cuInit(0) || cuDeviceGet(&device, 0) || cuCtxCreate(&context, NULL, 0, device);
    failed |= cuModuleLoadData(&module, "image") || cuModuleGetFunction(&kernel, module, "busy__2us");
    failed |= launch(kernel, 1000);
    failed |= take(strcmp(which, "shared") == 0 ? of_box : of_counter);
    if (strcmp(which, "passing") == 0) failed |= launch(kernel, 5) || take(of_calendar);
    failed |= launch(kernel, 1000) || cuCtxSynchronize();
    printf("failed: %d\n", failed);
    return failed;
}
