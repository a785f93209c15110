// A libcuda.so.1 that does nothing, at once: what is measured on it is the shim's cost and nobody else's. It
// has only the names that the benchmarks and a recorder ask for. Events are the processor's counter, and over
// as soon as they are recorded. bench_plain_launch() gives the address that no preload stands in front of.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include <cstring>

#include "driver.h"

#define API extern "C" __attribute__((visibility("default"))) CUresult CUDAAPI

namespace {

int context, module_, function, stream;

uint64_t& stamp_of(CUevent event) { return *reinterpret_cast<uint64_t*>(event); }

void copy_text(char* to, int size, const char* text) {
    std::strncpy(to, text, static_cast<size_t>(size) - 1);
    to[size - 1] = 0;
}

}  // namespace

API cuInit(unsigned) { return CUDA_SUCCESS; }

API cuDriverGetVersion(int* version) {
    *version = 13000;
    return CUDA_SUCCESS;
}

API cuDeviceGetCount(int* count) {
    *count = 1;
    return CUDA_SUCCESS;
}

API cuDeviceGet(CUdevice* device, int) {
    *device = 0;
    return CUDA_SUCCESS;
}

API cuDeviceGetName(char* name, int size, CUdevice) {
    copy_text(name, size, "Simulated nothing");
    return CUDA_SUCCESS;
}

API cuCtxCreate_v2(CUcontext* made, unsigned, CUdevice) {
    *made = reinterpret_cast<CUcontext>(&context);
    return CUDA_SUCCESS;
}

API cuCtxGetCurrent(CUcontext* current) {
    *current = reinterpret_cast<CUcontext>(&context);
    return CUDA_SUCCESS;
}

API cuStreamIsCapturing(CUstream, CUstreamCaptureStatus* status) {
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}

API cuModuleLoadData(CUmodule* made, const void*) {
    *made = reinterpret_cast<CUmodule>(&module_);
    return CUDA_SUCCESS;
}

API cuModuleGetFunction(CUfunction* found, CUmodule, const char*) {
    *found = reinterpret_cast<CUfunction>(&function);
    return CUDA_SUCCESS;
}

static CUresult launch(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                       CUstream, void**, void**) {
    return CUDA_SUCCESS;
}

API cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
                   void**, void**) {
    return CUDA_SUCCESS;
}

// --- what device times take ------------------------------------------------------------------------------

API cuCtxPushCurrent_v2(CUcontext) { return CUDA_SUCCESS; }

API cuCtxPopCurrent_v2(CUcontext* popped) { return cuCtxGetCurrent(popped); }

API cuCtxGetDevice(CUdevice* device) { return cuDeviceGet(device, 0); }

API cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode*) { return CUDA_SUCCESS; }

API cuStreamCreate(CUstream* made, unsigned) {
    *made = reinterpret_cast<CUstream>(&stream);
    return CUDA_SUCCESS;
}

API cuEventCreate(CUevent* made, unsigned) {
    *made = reinterpret_cast<CUevent>(new uint64_t(0));
    return CUDA_SUCCESS;
}

API cuEventRecord(CUevent event, CUstream) {
    stamp_of(event) = bench::ticks();
    return CUDA_SUCCESS;
}

API cuEventQuery(CUevent) { return CUDA_SUCCESS; }

API cuEventElapsedTime(float* ms, CUevent from, CUevent to) {
    static const double tick_ns = bench::tick_ns();
    *ms = static_cast<float>(static_cast<double>(static_cast<int64_t>(stamp_of(to) - stamp_of(from))) *
                             tick_ns * 1e-6);
    return CUDA_SUCCESS;
}

// Not the exported one's address: that may be a preload's.
extern "C" __attribute__((visibility("default"))) void* bench_plain_launch() {
    return reinterpret_cast<void*>(&launch);
}
