// Chooses as an autotuner does: measures two ways of doing the same with events of its own, and takes the
// shorter. Prints one line for each choice. The margins are wide without anybody's events between kernels,
// and gone with them.
#include <cuda.h>

#include <cstdio>
#include <cstdlib>

namespace {

// The names say how long they take, for a simulated GPU that runs no PTX; a real one waits on its timer.
constexpr const char* kPtx = R"(
.version 6.0
.target sm_50
.address_size 64
.visible .entry one__120us()
{
    .reg .u64 %begin, %now, %passed;
    .reg .pred %early;
    mov.u64 %begin, %globaltimer;
again:
    mov.u64 %now, %globaltimer;
    sub.u64 %passed, %now, %begin;
    setp.lt.u64 %early, %passed, 120000;
    @%early bra again;
    ret;
}
.visible .entry many__4us()
{
    .reg .u64 %begin, %now, %passed;
    .reg .pred %early;
    mov.u64 %begin, %globaltimer;
again:
    mov.u64 %now, %globaltimer;
    sub.u64 %passed, %now, %begin;
    setp.lt.u64 %early, %passed, 4000;
    @%early bra again;
    ret;
}
)";
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
    float measure_ms(CUfunction function, int times, CUfunction before) {
        float ms = 0;
        launch(before, 3);
        check(cuEventRecord(begin_, stream_));
        launch(function, times);
        check(cuEventRecord(end_, stream_));
        check(cuEventSynchronize(end_));
        check(cuEventElapsedTime(&ms, begin_, end_));
        return ms;
    }

  private:
    void launch(CUfunction function, int times) {
        while (times-- > 0) check(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream_, nullptr, nullptr));
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
    check(cuModuleGetFunction(&one, module, "one__120us"));
    check(cuModuleGetFunction(&many, module, "many__4us"));
    Tuner tuner;
    for (int choice = 0; choice < kChoices; ++choice) {
        const float one_ms = tuner.measure_ms(one, 1, one);
        const float many_ms = tuner.measure_ms(many, kOfMany, one);
        std::puts(one_ms < many_ms ? "one" : "many");
    }
    return 0;
}
