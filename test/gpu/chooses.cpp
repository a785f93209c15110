// Chooses as an autotuner does: measures two ways of doing the same with events of its own, and takes the
// shorter. Prints one line for each choice. The margins are wide without anybody's events between kernels,
// and gone with them. Every second choice's kernels are launched by another thread, as backward passes are.
#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "spin.h"

namespace {

constexpr const char* kPtx = PTX_HEAD PTX_SPIN("one__130us", "130000") PTX_SPIN("many__4us", "4000");
constexpr int kChoices = 12, kOfMany = 20;

void check(CUresult result) {
    if (result != CUDA_SUCCESS) std::exit(1);
}

class Tuner {
  public:
    Tuner() {
        check(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
        check(cuEventCreate(&begin_, CU_EVENT_DEFAULT));
        check(cuEventCreate(&end_, CU_EVENT_DEFAULT));
    }
    // What is launched first hides what the host takes to launch the rest.
    float measure_ms(CUfunction function, int times, CUfunction before, bool is_elsewhere) {
        float ms = 0;
        launch(before, 10);  // 1.3 ms: a thread takes its time to start
        check(cuEventRecord(begin_, stream_));
        is_elsewhere ? launch_elsewhere(function, times) : launch(function, times);
        check(cuEventRecord(end_, stream_));
        check(cuEventSynchronize(end_));
        check(cuEventElapsedTime(&ms, begin_, end_));
        return ms;
    }

  private:
    void launch(CUfunction function, int times) {
        while (times-- > 0) check(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream_, nullptr, nullptr));
    }
    void launch_elsewhere(CUfunction function, int times) {
        CUcontext context = nullptr;
        check(cuCtxGetCurrent(&context));
        std::thread([=, this] {
            check(cuCtxSetCurrent(context));
            launch(function, times);
        }).join();
    }
    CUstream stream_ = nullptr;
    CUevent begin_ = nullptr, end_ = nullptr;
};

}  // namespace

int main() {
    CUcontext context = nullptr;
    CUmodule module = nullptr;
    CUfunction one = nullptr, many = nullptr;
    check(cuInit(0));
    check(cuDevicePrimaryCtxRetain(&context, 0));
    check(cuCtxSetCurrent(context));
    check(cuModuleLoadData(&module, kPtx));
    check(cuModuleGetFunction(&one, module, "one__130us"));
    check(cuModuleGetFunction(&many, module, "many__4us"));
    Tuner tuner;
    for (int choice = 0; choice < kChoices; ++choice) {
        const bool is_elsewhere = choice % 2 != 0;
        const float one_ms = tuner.measure_ms(one, 1, one, is_elsewhere);
        const float many_ms = tuner.measure_ms(many, kOfMany, one, is_elsewhere);
        std::puts(one_ms < many_ms ? "one" : "many");
    }
    return 0;
}
