// What only nvcc makes: <<<>>> launches, registration before main, __constant__ and __managed__ variables.
// The box computes nothing, so what a kernel would have written is not looked at.
#include "check.h"

extern "C" __global__ void scale__40us(float* data, float factor) { data[threadIdx.x] *= factor; }
extern "C" __global__ void shared__10us(int* out) {
    extern __shared__ int scratch[];
    scratch[threadIdx.x] = static_cast<int>(threadIdx.x);
    __syncthreads();
    out[threadIdx.x] = scratch[0];
}
template <class T>
__global__ void of_a_type(T* data) {
    *data = T{};
}
__constant__ int table[8];
__managed__ int counter = 0;

namespace {

void by_triple_brackets(float* data) {
    cudaStream_t stream = nullptr;
    OK(cudaStreamCreate(&stream));
    for (int i = 0; i < 3; ++i) scale__40us<<<2, 32, 0, stream>>>(data, 2.0F);
    OK(cudaGetLastError());
    shared__10us<<<1, dim3(8, 4), 512, stream>>>(reinterpret_cast<int*>(data));
    of_a_type<<<1, 1>>>(data);
    OK(cudaDeviceSynchronize());
    OK(cudaStreamDestroy(stream));
    scale__40us<<<1, 4096>>>(data, 2.0F);
    IS(cudaErrorInvalidConfiguration, cudaGetLastError());
}

void by_the_functions(float* data) {
    float factor = 3;
    void* arguments[] = {&data, &factor};
    OK(cudaLaunchKernel(scale__40us, dim3(1), dim3(32), arguments, 0, nullptr));
    OK(cudaLaunchCooperativeKernel(scale__40us, dim3(1), dim3(32), arguments, 0, nullptr));
    cudaLaunchAttribute priority;
    priority.id = cudaLaunchAttributePriority;
    priority.val.priority = 0;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(1);
    config.blockDim = dim3(32);
    config.attrs = &priority;
    config.numAttrs = 1;
    OK(cudaLaunchKernelEx(&config, scale__40us, data, factor));
    OK(cudaDeviceSynchronize());
}

void what_a_kernel_is() {
    cudaFuncAttributes attributes;
    OK(cudaFuncGetAttributes(&attributes, scale__40us));
    CHECK(attributes.maxThreadsPerBlock > 0);
    OK(cudaFuncSetAttribute(shared__10us, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536));
    int blocks = 0;
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, scale__40us, 128, 0));
    CHECK(blocks > 0);
    const char* name = nullptr;
    OK(cudaFuncGetName(&name, scale__40us));
    CHECK(name != nullptr);
    cudaKernel_t kernel = nullptr;
    OK(cudaGetKernel(&kernel, scale__40us));
    CHECK(kernel != nullptr);
}

void variables() {
    const int sent[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    int back[8] = {};
    OK(cudaMemcpyToSymbol(table, sent, sizeof sent));
    OK(cudaMemcpyFromSymbol(back, table, sizeof back));
    CHECK(back[0] == 1 && back[7] == 8);
    counter = 5;
    CHECK(counter == 5);
}

void in_a_graph(float* data) {
    cudaStream_t stream = nullptr;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    scale__40us<<<1, 32, 0, stream>>>(data, 2.0F);
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphInstantiate(&executable, graph, 0));
    for (int i = 0; i < 5; ++i) OK(cudaGraphLaunch(executable, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaGraphExecDestroy(executable));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(stream));
}

}  // namespace

// scale__40us: 3 by brackets, 3 by functions, 5 from the graph.
int main() {
    float* data = nullptr;
    OK(cudaMalloc(&data, 4096));
    by_triple_brackets(data);
    by_the_functions(data);
    what_a_kernel_is();
    variables();
    in_a_graph(data);
    OK(cudaFree(data));
}
