// A short life that asks of the shim all that it does: two threads, one after the other, so that on the
// stepped clock every run is the same; modules, events, launches, copies, waits and steps, and three tenths
// of a second of virtual time between rounds (3 ms of real time). After so many launches, if that is told, it
// ends without a word, and leaves in its rings what it has done since the last pass.
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "way.h"

namespace {

constexpr int kRounds = 8, kLaunches = 40;
constexpr unsigned long kBetweenRoundsNs = 300'000'000, kOnARealClockNs = 3'000'000;
constexpr char kPtx[] = ".version 7.0\n.target sm_70\n.visible .entry work() { ret; }\n";
unsigned long launched = 0;

void done(CUresult result) { must(result == CUDA_SUCCESS, "a call"); }

void round(CUstream stream, CUdeviceptr memory) {
    unsigned char here[256] = {1};
    CUmodule module;
    CUfunction function;
    CUevent event;
    done(cuModuleLoadData(&module, kPtx));
    done(cuModuleGetFunction(&function, module, "work"));
    done(cuEventCreate(&event, 0));
    for (unsigned i = 0; i < kLaunches; ++i, ++launched)
        done(cuLaunchKernel(function, 1 + i % 3, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr));
    done(cuMemcpyHtoDAsync(memory, here, sizeof here, stream));
    done(cuMemsetD8Async(memory, 7, sizeof here, stream));
    done(cuEventRecord(event, stream));
    done(cuStreamSynchronize(stream));
    done(cuMemcpyDtoH(here, memory, sizeof here));
    must(here[255] == 7, "what was set");
    done(cuEventDestroy(event));
    done(cuModuleUnload(module));
}

template <class Function>
Function optional(const char* name) {
    return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

void* rounds(void*) {
    const auto step = optional<void (*)()>("gpushim_step");
    const auto advance = optional<void (*)(unsigned long)>("gpusim_advance_ns");
    CUstream stream;
    CUdeviceptr memory;
    done(cuCtxSetCurrent(host_context));
    done(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    done(cuMemAlloc(&memory, 4096));
    const char* clock = getenv("GPUSIM_CLOCK");
    const bool stepped = clock != nullptr && strcmp(clock, "stepped") == 0;
    for (int i = 0; i < kRounds; ++i) {
        if (step != nullptr) step();
        round(stream, memory);
        if (host_number != 0 && launched >= static_cast<unsigned long>(host_number)) _exit(0);
        if (advance != nullptr) advance(stepped ? kBetweenRoundsNs : kOnARealClockNs);
    }
    done(cuMemFree(memory));
    done(cuStreamDestroy(stream));
    return nullptr;
}

}  // namespace

WAY(brief) {
    pthread_t thread;
    open_gpu();
    rounds(nullptr);
    must(pthread_create(&thread, nullptr, rounds, nullptr) == 0, "thread");
    pthread_join(thread, nullptr);
    done(cuCtxDestroy(host_context));
    printf("%lu launches\n", launched);
}
