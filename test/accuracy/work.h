// What workloads are made of: contexts, streams, kernels of a given length, host work. A workload is one
// function that registers itself; a run is one of them, on the simulated box.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#define CU(call) accuracy::check(call, #call)

namespace accuracy {

constexpr int64_t kMicrosecond = 1000;
constexpr int64_t kMillisecond = 1'000'000;

inline void check(CUresult result, const char* call) {
    if (result == CUDA_SUCCESS) return;
    std::fprintf(stderr, "accuracy: %s returned %d\n", call, result);
    std::exit(1);
}

// A kernel that takes so long, known by its name or, where the box has GPUSIM_DURATIONS, by one that says
// nothing. Of the current context.
CUfunction kernel(int64_t duration_ns);
std::string name_of(int64_t duration_ns);

void launch(CUfunction function, CUstream stream = nullptr, unsigned grid = 8);
CUstream make_stream(unsigned flags = CU_STREAM_NON_BLOCKING);
CUevent make_event(unsigned flags = CU_EVENT_DISABLE_TIMING);
CUdeviceptr device_memory(size_t bytes);
void* pinned_memory(size_t bytes);
CUcontext use_device(int ordinal);  // makes its primary context current

void work(int64_t ns);   // the host computes
void block(int64_t ns);  // the host waits for something that is not the device

// One of `seed`'s numbers, the same in every run: how often a workload's loops turn out to run, …
class Chance {
  public:
    explicit Chance(uint64_t seed) : engine_(seed) {}
    int64_t between(int64_t low, int64_t high) {
        return low + static_cast<int64_t>(engine_() % static_cast<uint64_t>(high - low + 1));
    }

  private:
    std::mt19937_64 engine_;
};

// What a run is given beside the workload's name.
struct Run {
    int64_t steps;  // how long it goes on; each workload says what one is
    uint64_t seed;
};

struct Workload {
    const char* name;
    const char* what;  // one line
    int devices;
    int64_t steps;  // unless the run says otherwise
    void (*go)(const Run&);
};

void add(const Workload& workload);
struct Registration {
    explicit Registration(const Workload& workload) { add(workload); }
};
#define WORKLOAD(name, devices, steps, what)                    \
    static void name(const accuracy::Run&);                     \
    static const accuracy::Registration registration_of_##name{ \
        accuracy::Workload{#name, what, devices, steps, name}}; \
    static void name([[maybe_unused]] const accuracy::Run& run)

}  // namespace accuracy
