// Another profiler plug-in of NCCL: wants what PLUGIN_MASK says, and says at the end what it was given.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned started[16];

static int begin(void** context, uint64_t id, int* mask, const char* name, int nodes, int ranks, int rank,
                 void* log) {
    const char* wanted = getenv("PLUGIN_MASK");
    *context = started;
    *mask = wanted != NULL ? atoi(wanted) : 2;
    return 0;
}
static int start(void* context, void** handle, const uint64_t* event) {
    for (int bit = 0; bit < 16; ++bit)
        if (*event == UINT64_C(1) << bit) ++started[bit];
    *handle = started;
    return 0;
}
static int stop(void* handle) { return 0; }
static int state(void* handle, int to, const void* said) { return 0; }
static int end(void* context) {
    static int ended;
    if (++ended < 2) return 0;
    printf("plug-in:");
    for (int bit = 0; bit < 16; ++bit)
        if (started[bit] != 0) printf(" %d*%u", 1 << bit, started[bit]);
    puts("");
    return 0;
}

struct {
    const char* name;
    int (*begin)(void**, uint64_t, int*, const char*, int, int, int, void*);
    int (*start)(void*, void**, const uint64_t*);
    int (*stop)(void*);
    int (*state)(void*, int, const void*);
    int (*end)(void*);
} ncclProfiler_v5 = {"another", begin, start, stop, state, end};
