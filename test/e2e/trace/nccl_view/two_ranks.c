// Two ranks in one process: as many all-reduces as the first argument says, and unless there is a second one
// a group of a send and a receive between them; with a third one it is killed before its end. Says what the
// environment has of NCCL's plug-in, for that is what the program sees.
#include <cuda.h>
#include <nccl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANKS 2
#define COUNT (1 << 20)

static CUcontext context[RANKS];
static CUstream stream[RANKS];
static float* memory[RANKS];
static ncclComm_t comm[RANKS];

static int make(int rank) {
    CUdeviceptr address;
    if (cuDevicePrimaryCtxRetain(&context[rank], rank) || cuCtxSetCurrent(context[rank])) return 1;
    if (cuStreamCreate(&stream[rank], CU_STREAM_NON_BLOCKING)) return 1;
    if (cuMemAlloc(&address, COUNT * sizeof(float))) return 1;
    memory[rank] = (float*)address;
    return 0;
}

static int all_reduce(void) {
    int failed = ncclGroupStart();
    for (int rank = 0; rank < RANKS; ++rank)
        failed |= ncclAllReduce(memory[rank], memory[rank], COUNT, ncclFloat32, ncclSum, comm[rank],
                                (cudaStream_t)stream[rank]);
    return failed | ncclGroupEnd();
}

static int messages(void) {
    int failed = ncclGroupStart();
    failed |= ncclSend(memory[0], COUNT, ncclFloat32, 1, comm[0], (cudaStream_t)stream[0]);
    failed |= ncclRecv(memory[1], COUNT, ncclFloat32, 0, comm[1], (cudaStream_t)stream[1]);
    return failed | ncclGroupEnd();
}

static int synchronize(void) {
    int failed = 0;
    for (int rank = 0; rank < RANKS; ++rank) {
        failed |= cuCtxSetCurrent(context[rank]);
        failed |= cuStreamSynchronize(stream[rank]);
    }
    return failed;
}

int main(int count, char** words) {
    const int times = count > 1 ? atoi(words[1]) : 1;
    if (cuInit(0) || make(0) || make(1) || ncclCommInitAll(comm, RANKS, NULL)) return 1;
    for (int i = 0; i < times; ++i)
        if (all_reduce() || synchronize()) return 2;
    if (count < 3 && (messages() || synchronize())) return 3;
    if (count > 3) raise(SIGKILL);
    for (int rank = 0; rank < RANKS; ++rank)
        if (ncclCommDestroy(comm[rank])) return 4;
    const char* plugin = getenv("NCCL_PROFILER_PLUGIN");
    puts(plugin != NULL ? plugin : "none");
    return 0;
}
