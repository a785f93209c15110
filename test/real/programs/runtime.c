// Asks the CUDA runtime, shared or linked in, what can be asked without a GPU, and prints its answers.
#include <stddef.h>
#include <stdio.h>

int cudaRuntimeGetVersion(int*);
int cudaDriverGetVersion(int*);
int cudaGetDeviceCount(int*);
int cudaGetDevice(int*);
int cudaSetDevice(int);
int cudaMalloc(void**, size_t);
int cudaFree(void*);
int cudaMemcpy(void*, const void*, size_t, int);
int cudaStreamCreate(void**);
int cudaStreamSynchronize(void*);
int cudaEventCreate(void**);
int cudaDeviceSynchronize(void);
int cudaGetLastError(void);
int cudaPeekAtLastError(void);
int cudaGetDriverEntryPoint(const char*, void**, unsigned long long, int*);
const char* cudaGetErrorName(int);
const char* cudaGetErrorString(int);

enum { kErrors = 1000, kToDevice = 1 };

static void say(const char* what, int status) {
    printf("%s: %d %s, last error %d\n", what, status, cudaGetErrorName(status), cudaPeekAtLastError());
}

static void ask_versions(void) {
    int version = -1;
    say("cudaRuntimeGetVersion", cudaRuntimeGetVersion(&version));
    printf("%d\n", version);
    version = -1;
    say("cudaDriverGetVersion", cudaDriverGetVersion(&version));
    printf("%d\n", version);
}

static void ask_for_work(void) {
    int number = -1;
    char bytes[16] = {0};
    void* handle = NULL;
    say("cudaGetDeviceCount", cudaGetDeviceCount(&number));
    say("cudaGetDevice", cudaGetDevice(&number));
    say("cudaSetDevice", cudaSetDevice(0));
    say("cudaFree", cudaFree(NULL));
    say("cudaMalloc", cudaMalloc(&handle, sizeof bytes));
    say("cudaMemcpy", cudaMemcpy(handle, bytes, sizeof bytes, kToDevice));
    say("cudaStreamCreate", cudaStreamCreate(&handle));
    say("cudaStreamSynchronize", cudaStreamSynchronize(NULL));
    say("cudaEventCreate", cudaEventCreate(&handle));
    say("cudaDeviceSynchronize", cudaDeviceSynchronize());
    say("cudaGetLastError", cudaGetLastError());
}

int main(void) {
    ask_versions();
    ask_for_work();
    void* entry = NULL;
    int found = -1;
    say("cudaGetDriverEntryPoint", cudaGetDriverEntryPoint("cuLaunchKernel", &entry, 0, &found));
    printf("%d %d\n", entry != NULL, found);
    for (int error = 0; error < kErrors; error++)
        printf("%s: %s\n", cudaGetErrorName(error), cudaGetErrorString(error));
    return 0;
}
