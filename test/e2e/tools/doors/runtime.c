// A program on the CUDA runtime: seven copies to the device.
#include <cuda_runtime_api.h>
#include <stdio.h>

int main(void) {
    static char there[4096];
    void* memory;
    if (cudaMalloc(&memory, sizeof there) != cudaSuccess) return printf("no memory\n"), 1;
    for (int i = 0; i < 7; ++i)
        if (cudaMemcpy(memory, there, sizeof there, cudaMemcpyHostToDevice) != cudaSuccess)
            return printf("copy %d failed\n", i), 1;
    printf("7 copies: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    return 0;
}
