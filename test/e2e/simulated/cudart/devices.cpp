// Devices, versions, entry points and errors. Two devices.
#include <cuda.h>

#include <cstring>
#include <thread>

#include "check.h"

namespace {

int current() {
    int device = -1;
    OK(cudaGetDevice(&device));
    return device;
}

int attribute(cudaDeviceAttr which, int device) {
    int value = -1;
    OK(cudaDeviceGetAttribute(&value, which, device));
    return value;
}

void properties_are_the_attributes() {
    int count = 0;
    OK(cudaGetDeviceCount(&count));
    CHECK(count == 2);
    cudaDeviceProp one, two;
    OK(cudaGetDeviceProperties(&one, 0));
    OK(cudaGetDeviceProperties(&two, 1));
    CHECK(std::strncmp(one.name, "Simulated ", 10) == 0);
    CHECK(std::memcmp(&one.uuid, &two.uuid, sizeof one.uuid) != 0);
    CHECK(one.totalGlobalMem == std::size_t{16} << 30);
    CHECK(one.warpSize == 32 && one.major >= 7);
    CHECK(one.multiProcessorCount == attribute(cudaDevAttrMultiProcessorCount, 0));
    CHECK(one.maxThreadsPerBlock == attribute(cudaDevAttrMaxThreadsPerBlock, 0));
    CHECK(two.pciBusID == attribute(cudaDevAttrPciBusId, 1));
    char bus[32];
    int device = -1;
    OK(cudaDeviceGetPCIBusId(bus, sizeof bus, 1));
    OK(cudaDeviceGetByPCIBusId(&device, bus));
    CHECK(device == 1);
}

void a_thread_has_a_device_of_its_own() {
    void* pointer = nullptr;
    cudaPointerAttributes attributes;
    OK(cudaSetDevice(1));
    OK(cudaMalloc(&pointer, 100));
    OK(cudaPointerGetAttributes(&attributes, pointer));
    CHECK(attributes.device == 1);
    std::thread([] { CHECK(current() == 0); }).join();
    CHECK(current() == 1);
    OK(cudaFree(pointer));
    OK(cudaSetDevice(0));
    IS(cudaErrorInvalidDevice, cudaSetDevice(2));
    CHECK(current() == 0);
}

void copies_between_devices() {
    int can = 0, sent = 77, back = 0;
    void *here = nullptr, *there = nullptr;
    OK(cudaDeviceCanAccessPeer(&can, 0, 1));
    CHECK(can == 1);
    OK(cudaDeviceEnablePeerAccess(1, 0));
    IS(cudaErrorPeerAccessAlreadyEnabled, cudaDeviceEnablePeerAccess(1, 0));
    OK(cudaMalloc(&here, sizeof sent));
    OK(cudaSetDevice(1));
    OK(cudaMalloc(&there, sizeof sent));
    OK(cudaMemcpy(here, &sent, sizeof sent, cudaMemcpyHostToDevice));
    OK(cudaMemcpyPeer(there, 1, here, 0, sizeof sent));
    OK(cudaMemcpy(&back, there, sizeof back, cudaMemcpyDeviceToHost));
    CHECK(back == 77);
    OK(cudaSetDevice(0));
    OK(cudaDeviceDisablePeerAccess(1));
    IS(cudaErrorPeerAccessNotEnabled, cudaDeviceDisablePeerAccess(1));
}

void a_reset_takes_everything_away() {
    void* pointer = nullptr;
    std::size_t free_before = 0, free_after = 0, total = 0;
    OK(cudaMemGetInfo(&free_before, &total));
    OK(cudaMalloc(&pointer, 1 << 20));
    OK(cudaDeviceReset());
    OK(cudaMemGetInfo(&free_after, &total));
    CHECK(free_after >= free_before);
    OK(cudaMalloc(&pointer, 1 << 20));
}

void versions() {
    int runtime = 0, driver = 0;
    OK(cudaRuntimeGetVersion(&runtime));
    OK(cudaDriverGetVersion(&driver));
    CHECK(runtime == CUDART_VERSION && driver == 13000);
}

void entry_points_of_the_driver() {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult status;
    OK(cudaGetDriverEntryPointByVersion("cuDeviceGetCount", &function, 13000, cudaEnableDefault, &status));
    CHECK(status == cudaDriverEntryPointSuccess);
    int count = 0;
    CHECK(reinterpret_cast<CUresult (*)(int*)>(function)(&count) == CUDA_SUCCESS && count == 2);
    OK(cudaGetDriverEntryPointByVersion("cuNoSuchThing", &function, 13000, cudaEnableDefault, &status));
    CHECK(status == cudaDriverEntryPointSymbolNotFound);
    OK(cudaGetDriverEntryPointByVersion("cuGraphLaunch", &function, 2000, cudaEnableDefault, &status));
    CHECK(status == cudaDriverEntryPointVersionNotSufficent);
}

void the_last_error() {
    void* pointer = nullptr;
    int there = 0;
    IS(cudaErrorMemoryAllocation, cudaMalloc(&pointer, std::size_t{1} << 50));
    OK(cudaGetDevice(&there));
    IS(cudaErrorMemoryAllocation, cudaPeekAtLastError());
    std::thread([] { OK(cudaGetLastError()); }).join();
    IS(cudaErrorMemoryAllocation, cudaGetLastError());
    OK(cudaGetLastError());
    IS(cudaErrorInvalidMemcpyDirection, cudaMemcpy(&there, &there, 4, static_cast<cudaMemcpyKind>(7)));
    IS(cudaErrorInvalidDeviceFunction, cudaLaunchKernel(&there, dim3(1), dim3(1), nullptr, 0, nullptr));
    cudaArray_t array = nullptr;
    const cudaChannelFormatDesc bytes = cudaCreateChannelDesc(8, 0, 0, 0, cudaChannelFormatKindUnsigned);
    IS(cudaErrorNotSupported, cudaMallocArray(&array, &bytes, 4, 4, 0));
    cudaGetLastError();
}

void errors_have_names() {
    CHECK(std::strcmp(cudaGetErrorName(cudaErrorNotReady), "cudaErrorNotReady") == 0);
    CHECK(std::strcmp(cudaGetErrorName(cudaErrorStreamCaptureInvalidated),
                      "cudaErrorStreamCaptureInvalidated") == 0);
    CHECK(std::strlen(cudaGetErrorString(cudaErrorNotReady)) > 0);
    CHECK(cudaGetErrorName(static_cast<cudaError_t>(12345)) != nullptr);
}

}  // namespace

int main() {
    properties_are_the_attributes();
    a_thread_has_a_device_of_its_own();
    copies_between_devices();
    a_reset_takes_everything_away();
    versions();
    entry_points_of_the_driver();
    cudaGetLastError();
    the_last_error();
    errors_have_names();
}
