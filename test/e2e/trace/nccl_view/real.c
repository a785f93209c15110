// The real NCCL's own search for a profiler plug-in, and its first and last call of one: functions that it
// does not export, at the places that the caller has from the library's symbols, for a communicator of zeros.
// All that needs no GPU.
//
//   real LIBRARY INIT FINALIZE MASK
#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>

#define COMMUNICATOR_BYTES (32 << 20)  // more than any version's

static char* place(void* library, const char* offset) {
    struct link_map* map;
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) exit(2);
    return (char*)map->l_addr + strtoull(offset, NULL, 16);
}

int main(int count, char** words) {
    CUcontext context;
    if (count < 5 || cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context)) return 1;
    void* library = dlopen(words[1], RTLD_NOW);
    if (library == NULL) return puts(dlerror()), 1;
    int (*init)(void*) = (int (*)(void*))place(library, words[2]);
    int (*finalize)(void*) = (int (*)(void*))place(library, words[3]);
    const volatile int* mask = (const int*)place(library, words[4]);
    void* communicator = calloc(1, COMMUNICATOR_BYTES);
    const int began = init(communicator);
    printf("%d %d", began, *mask);
    printf(" %d\n", finalize(communicator));
    return 0;
}
