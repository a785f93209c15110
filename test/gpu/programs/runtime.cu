// Launches and copies in known numbers on the CUDA runtime; prints whether all went well.
#include <cstdio>

extern "C" __global__ void first(float* data) { data[threadIdx.x] += 1; }
extern "C" __global__ void second(float* data) { data[threadIdx.x] += 2; }

constexpr int kCount = 1024;

int main() {
    float host[kCount] = {};
    float* data = nullptr;
    bool ok = cudaMalloc(&data, sizeof host) == cudaSuccess;
    for (int i = 0; i < 10; ++i)
        ok = ok && cudaMemcpy(data, host, sizeof host, cudaMemcpyHostToDevice) == cudaSuccess;
    for (int i = 0; i < 300; ++i) first<<<1, kCount>>>(data);
    for (int i = 0; i < 70; ++i) second<<<1, kCount>>>(data);
    ok = ok && cudaDeviceSynchronize() == cudaSuccess;
    ok = ok && cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost) == cudaSuccess;
    ok = ok && cudaFree(data) == cudaSuccess;
    std::printf("%s\n", ok ? "ok" : cudaGetErrorString(cudaGetLastError()));
    return ok ? 0 : 1;
}
