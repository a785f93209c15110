#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "way.h"

char* host_program;
int host_number;
const char* host_text = "";
CUcontext host_context;

static Way* ways;
static CUdeviceptr memory;

Way::Way(const char* called, void (*does)()) : name(called), go(does), next(ways) { ways = this; }

void must(bool holds, const char* what) {
    if (holds) return;
    printf("failed: %s\n", what);
    fflush(stdout);
    _exit(9);
}

void open_gpu() {
    must(cuInit(0) == CUDA_SUCCESS, "cuInit");
    must(cuCtxCreate_v4(&host_context, nullptr, 0, 0) == CUDA_SUCCESS, "context");
    must(cuMemAlloc_v2(&memory, 4096) == CUDA_SUCCESS, "memory");
}

void copy(int times) {
    char bytes[64] = {};
    for (int i = 0; i < times; ++i)
        must(cuMemcpyHtoD_v2(memory, bytes, sizeof bytes) == CUDA_SUCCESS, "copy");
}

void* copy_seven(void*) {
    must(cuCtxSetCurrent(host_context) == CUDA_SUCCESS, "current");
    copy(7);
    return nullptr;
}

int main(int count, char** words) {
    host_program = words[0];
    if (count > 2) host_number = atoi(words[2]);
    if (count > 3) host_text = words[3];
    for (const Way* way = ways; way != nullptr; way = way->next)
        if (count > 1 && strcmp(way->name, words[1]) == 0) return way->go(), 0;
    return 2;
}
