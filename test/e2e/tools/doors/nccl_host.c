// Two GPUs in one process add their numbers up: a group of AllReduces, then a group of ncclBcast, whose every
// call reaches ncclBroadcast in NCCL itself.
#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>
#include <nccl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define GPUS 2
#define COUNT 64
#define FUNCTIONS(F)   \
    F(ncclCommInitAll) \
    F(ncclGroupStart) F(ncclGroupEnd) F(ncclAllReduce) F(ncclBcast) F(ncclBroadcast) F(ncclCommDestroy)

#define DECLARE(name) __typeof__(&name) name;
static struct { FUNCTIONS(DECLARE) } my;

static int get_functions(void) {
#ifdef LINKED
#define TAKE(name) my.name = &name;
#else
    void* library = dlopen("libnccl.so.2", RTLD_NOW);
    if (library == NULL) return printf("%s\n", dlerror()), 0;
#define TAKE(name) my.name = (__typeof__(&name))dlsym(library, #name);
#endif
    FUNCTIONS(TAKE)
    return 1;
}

#define OK(call)                                                 \
    do {                                                         \
        if ((call) != 0) return printf("%s failed\n", #call), 1; \
    } while (0)

int main(void) {
    uint64_t (*hits)(const char*) = (uint64_t(*)(const char*))dlsym(RTLD_DEFAULT, "gpushim_hits");
    if (hits != NULL) hits(NULL);
    if (!get_functions()) return 1;
    ncclComm_t comms[GPUS];
    CUcontext contexts[GPUS];
    CUdeviceptr numbers[GPUS];
    float there[COUNT], back[COUNT];
    OK(cuInit(0));
    OK(my.ncclCommInitAll(comms, GPUS, NULL));
    for (int i = 0; i < GPUS; ++i) {
        OK(cuDevicePrimaryCtxRetain(&contexts[i], i));
        OK(cuCtxSetCurrent(contexts[i]));
        OK(cuMemAlloc(&numbers[i], sizeof there));
        for (int k = 0; k < COUNT; ++k) there[k] = (float)(k + i);
        OK(cuMemcpyHtoD(numbers[i], there, sizeof there));
    }
    OK(my.ncclGroupStart());
    for (int i = 0; i < GPUS; ++i)
        OK(my.ncclAllReduce((void*)numbers[i], (void*)numbers[i], COUNT, ncclFloat, ncclSum, comms[i], NULL));
    OK(my.ncclGroupEnd());
    OK(my.ncclGroupStart());
    for (int i = 0; i < GPUS; ++i) OK(my.ncclBcast((void*)numbers[i], COUNT, ncclFloat, 0, comms[i], NULL));
    OK(my.ncclGroupEnd());
    for (int i = 0; i < GPUS; ++i) {
        OK(cuCtxSetCurrent(contexts[i]));
        OK(cuCtxSynchronize());
        OK(cuMemcpyDtoH(back, numbers[i], sizeof back));
        for (int k = 0; k < COUNT; ++k)
            if (back[k] != (float)(2 * k + 1)) return printf("a wrong sum\n"), 1;
        OK(my.ncclCommDestroy(comms[i]));
    }
    printf("sums are right\n");
    FILE* file = hits != NULL && getenv("HITS") != NULL ? fopen(getenv("HITS"), "w") : NULL;
    if (file == NULL) return 0;
#define NAME(name) #name,
    const char* names[] = {FUNCTIONS(NAME)};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
        fprintf(file, "%s %llu\n", names[i], (unsigned long long)hits(names[i]));
    return fclose(file);
}
