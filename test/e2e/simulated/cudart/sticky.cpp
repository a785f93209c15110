// A kernel that fails takes the context with it: the error comes back from every call and cannot be cleared.
#include "check.h"

#define IMAGE_CODE \
    ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry wild__fault700() { ret; }\n"
#include "image.h"

KERNEL(wild__fault700)

int main() {
    void* pointer = nullptr;
    OK(cudaMalloc(&pointer, 100));
    OK(cudaLaunchKernel(&wild__fault700, dim3(1), dim3(1), nullptr, 0, nullptr));
    IS(cudaErrorIllegalAddress, cudaDeviceSynchronize());
    IS(cudaErrorIllegalAddress, cudaGetLastError());
    IS(cudaErrorIllegalAddress, cudaGetLastError());
    IS(cudaErrorIllegalAddress, cudaMemset(pointer, 0, 100));
    IS(cudaErrorIllegalAddress, cudaMalloc(&pointer, 100));
}
