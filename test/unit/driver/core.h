// What tests of the driver share: contexts and kernels in one line, and the timeline of a case. All names of
// the API are the exports' own (cuCtxCreate_v2, …), none is hidden behind a macro.
#pragma once

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cudaProfiler.h>

#include <cstdint>
#include <string>
#include <vector>

#include "box.h"
#include "engine/clock.h"

// The stepped clock with round costs: a launch call takes 1 us and its kernel starts 5 us after the call
// began, a record call takes 100 ns and its command 500 ns, all other calls take no time.
inline const std::string kStepped =
    "GPUSIM_CLOCK=stepped GPUSIM_LAUNCH_NS=1000 GPUSIM_LATENCY_NS=5000 GPUSIM_EVENT_NS=100 "
    "GPUSIM_EVENT_LATENCY_NS=500 GPUSIM_CALL_NS=0 ";

inline CUcontext make_context(CUdevice device = 0) {
    CUcontext context = nullptr;
    CU(cuInit(0));
    CU(cuCtxCreate_v2(&context, 0, device));
    return context;
}

inline CUstream make_stream(unsigned flags = CU_STREAM_DEFAULT) {
    CUstream stream = nullptr;
    CU(cuStreamCreate(&stream, flags));
    return stream;
}

inline CUevent make_event(unsigned flags = CU_EVENT_DEFAULT) {
    CUevent event = nullptr;
    CU(cuEventCreate(&event, flags));
    return event;
}

inline CUmodule load(const char* image) {
    CUmodule module = nullptr;
    CU(cuModuleLoadData(&module, image));
    return module;
}

// Not PTX text: the box takes it to hold a kernel of every name.
inline constexpr char kAnyImage[] = "any image";

inline CUfunction kernel(const char* name) {
    CUfunction function = nullptr;
    CU(cuModuleGetFunction(&function, load(kAnyImage), name));
    return function;
}

inline CUresult launch(CUfunction function, CUstream stream = nullptr, void** parameters = nullptr) {
    return cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr);
}

// One line of the truth file.
struct Truth {
    std::string op;
    int device = 0;
    uint64_t stream = 0;
    int64_t start_ns = 0, end_ns = 0, bytes = 0;
    std::string name;
    int64_t enter_ns = 0, exit_ns = 0;
};

// The truth of this case. Constructed first, with the case's knobs; times it tells count from `start()`.
class Timeline {
  public:
    explicit Timeline(const std::string& more_knobs = "");
    ~Timeline();
    Timeline(const Timeline&) = delete;
    Timeline& operator=(const Timeline&) = delete;

    void start() { zero_ns_ = gpusim::clock::now(); }
    int64_t now() const { return gpusim::clock::now() - zero_ns_; }
    std::vector<Truth> all() const;
    Truth named(const std::string& name) const;  // the one operation of that name
    // "start-end" of the named operation, for comparisons that read like the drawing above them.
    std::string span(const std::string& name) const;
    std::string text() const;
    std::string path() const { return path_; }

  private:
    std::string path_;
    int64_t zero_ns_ = 0;
};
