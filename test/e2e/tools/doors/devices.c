// A program on the CUDA runtime, which makes the contexts current itself. Argument 1: on how many devices its
// first thread works, one after the other; argument 2: how many more threads work on the first of them;
// argument 3, if there is one: at the end the process kills itself.
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { kBytes = 4096, kSets = 5 };

static void work_on(int device) {
    void* memory;
    int before, failed = cudaGetDevice(&before) != cudaSuccess;
    if (before != device) failed |= cudaSetDevice(device) != cudaSuccess;
    failed |= cudaMalloc(&memory, kBytes) != cudaSuccess;
    for (int i = 0; i < kSets && !failed; ++i) failed = cudaMemset(memory, device, kBytes) != cudaSuccess;
    if (failed) exit(printf("device %d failed\n", device));
}

static void* thread(void* unused) {
    work_on(0);
    return unused;
}

int main(int count, char** arguments) {
    pthread_t other;
    if (count < 3) return 2;
    for (int turn = 0; turn < 2; ++turn)
        for (int device = 0; device < atoi(arguments[1]); ++device) work_on(device);
    for (int i = 0; i < atoi(arguments[2]); ++i) {
        pthread_create(&other, NULL, thread, NULL);
        pthread_join(other, NULL);
    }
    if (count > 3) raise(SIGKILL);
    return 0;
}
