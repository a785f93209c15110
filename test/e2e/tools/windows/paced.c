// One stream, launches at a pace: paced <launches> <ns of host work after each> [every [ns before]]. Every so
// many launches is a step (gpushim_step); 0: none. Between the beginnings of steps 3 and 5 the profiler is
// on.
#include "one_gpu.h"

#include <cudaProfiler.h>
#include <dlfcn.h>
#include <unistd.h>

extern void gpusim_advance_ns(unsigned long ns);

int main(int count, char** words) {
    const long launches = atol(words[1]), pause_ns = atol(words[2]), every = count > 3 ? atol(words[3]) : 0;
    if (count > 4) gpusim_advance_ns(strtoul(words[4], NULL, 10));
    open_gpu();
    const CUfunction kernel = kernel_of("busy__2us");
    const CUstream stream = new_stream();
    void (*step)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "gpushim_step");
    for (long i = 0, number = 0; i < launches; ++i) {
        if (every != 0 && i % every == 0) {
            ++number;
            if (number == 3) MUST(cuProfilerStart());
            if (number == 5) MUST(cuProfilerStop());
            if (step != NULL) step();
        }
        launch_one(kernel, stream);
        if (getenv("PAUSE") != NULL)
            usleep((unsigned)(pause_ns / 1000));
        else
            gpusim_advance_ns((unsigned long)pause_ns);
    }
    MUST(cuStreamSynchronize(stream));
    if (getenv("LEAVE") == NULL) MUST(cuCtxDestroy(context));
    return 0;
}
