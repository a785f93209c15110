// One stream: what the host does decides.
#include <algorithm>

#include "work.h"

using namespace accuracy;

// The host is far ahead: 20 kernels wait while one runs.
WORKLOAD(back_to_back, 1, 100, "bursts of 100 kernels of 7 us in one stream, a synchronisation after each") {
    const CUstream stream = make_stream();
    for (int64_t i = 0; i < run.steps; ++i) {
        for (int n = 0; n < 100; ++n) launch(kernel(7 * kMicrosecond), stream);
        CU(cuStreamSynchronize(stream));
    }
}

WORKLOAD(long_kernels, 1, 300, "kernels of 1 ms, two waiting, host work of 300 us every tenth") {
    const CUstream stream = make_stream();
    const CUevent before = make_event();
    for (int64_t i = 0; i < run.steps; ++i) {
        launch(kernel(kMillisecond), stream);
        if (i % 10 != 9) continue;
        CU(cuEventRecord(before, stream));
        CU(cuEventSynchronize(before));
        work(300 * kMicrosecond);
    }
}

// formulas.md's hardest: 10,000 kernels of 2 us, a launch takes 4 us and starts 8 us after its call.
WORKLOAD(launch_starved, 1, 10'000,
         "kernels of 2 us as fast as the host can launch them: it cannot keep up") {
    const CUstream stream = make_stream();
    for (int64_t i = 0; i < run.steps; ++i) launch(kernel(2 * kMicrosecond), stream);
    CU(cuStreamSynchronize(stream));
}

WORKLOAD(starved_by_work, 1, 3'000, "kernels of 10 us with 40 us of host work between them, never a queue") {
    const CUstream stream = make_stream();
    for (int64_t i = 0; i < run.steps; ++i) {
        launch(kernel(10 * kMicrosecond), stream);
        work(40 * kMicrosecond);
    }
    CU(cuStreamSynchronize(stream));
}

WORKLOAD(sparse, 1, 400, "a kernel of 50 us every 5 ms, synchronised: never a queue") {
    for (int64_t i = 0; i < run.steps; ++i) {
        launch(kernel(50 * kMicrosecond));
        CU(cuCtxSynchronize());
        work(5 * kMillisecond);
    }
}

// So far from an anchor an elapsed time, a float in ms, is rounded to half a microsecond.
WORKLOAD(rare, 1, 60, "two kernels of 50 us every 6.7 s") {
    for (int64_t i = 0; i < run.steps; ++i) {
        for (int n = 0; n < 2; ++n) launch(kernel(50 * kMicrosecond));
        CU(cuCtxSynchronize());
        work(6'700 * kMillisecond + i * 1'037);
    }
}

WORKLOAD(sync_every_kernel, 1, 4'000, "kernels of 20 us, a synchronisation after each") {
    const CUstream stream = make_stream();
    for (int64_t i = 0; i < run.steps; ++i) {
        launch(kernel(20 * kMicrosecond), stream);
        CU(cuStreamSynchronize(stream));
    }
}

WORKLOAD(gaps_running, 1, 500, "bursts of 20 kernels of 30 us, then the host computes for 2 ms") {
    const CUstream stream = make_stream();
    for (int64_t i = 0; i < run.steps; ++i) {
        for (int n = 0; n < 20; ++n) launch(kernel(30 * kMicrosecond), stream);
        CU(cuStreamSynchronize(stream));
        work(2 * kMillisecond);
    }
}

WORKLOAD(gaps_blocked, 1, 500, "bursts of 20 kernels of 30 us, then the host waits 2 ms and computes 1 ms") {
    const CUstream stream = make_stream();
    for (int64_t i = 0; i < run.steps; ++i) {
        for (int n = 0; n < 20; ++n) launch(kernel(30 * kMicrosecond), stream);
        CU(cuStreamSynchronize(stream));
        block(2 * kMillisecond);
        work(kMillisecond);
    }
}

WORKLOAD(many_shapes, 1, 200, "kernels of 1 to 300 us in random order and bursts, host work between bursts") {
    constexpr int64_t kDurationsUs[] = {1, 2, 5, 10, 20, 50, 100, 300};
    Chance chance(run.seed);
    const CUstream stream = make_stream();
    for (int64_t i = 0; i < run.steps; ++i) {
        for (int64_t n = chance.between(1, 60); n > 0; --n)
            launch(kernel(kDurationsUs[chance.between(0, 7)] * kMicrosecond), stream,
                   static_cast<unsigned>(chance.between(1, 2)));
        if (chance.between(0, 2) == 0) CU(cuStreamSynchronize(stream));
        work(chance.between(0, 1'000) * kMicrosecond);
    }
    CU(cuStreamSynchronize(stream));
}

// What a training step looks like from below.
WORKLOAD(training, 1, 150, "input copy, 60 kernels of 5 to 100 us, 40 small ones, the loss read back") {
    constexpr int64_t kDurationsUs[] = {5, 10, 20, 50, 100};
    constexpr size_t kInputBytes = 2 << 20;
    Chance chance(run.seed);
    const CUstream stream = make_stream();
    const CUdeviceptr input = device_memory(kInputBytes);
    void* host = pinned_memory(kInputBytes);
    float loss = 0;
    for (int64_t i = 0; i < run.steps; ++i) {
        work(chance.between(500, 1'500) * kMicrosecond);
        CU(cuMemcpyHtoDAsync(input, host, kInputBytes, stream));
        for (int n = 0; n < 60; ++n) launch(kernel(kDurationsUs[n % 5] * kMicrosecond), stream);
        for (int n = 0; n < 40; ++n) launch(kernel(2 * kMicrosecond), stream);
        CU(cuMemcpyDtoHAsync(&loss, input, sizeof loss, stream));
        CU(cuStreamSynchronize(stream));
    }
}

// Its share of time is not the same from minute to minute: what samples of a run are to tell. A step is a
// second here: runs of all seeds have the same number of windows.
WORKLOAD(drifting, 1, 100,
         "60 kernels of 20 and 100 us at a time, after host work that drifts over minutes") {
    constexpr int64_t kLeastUs = 500, kMostUs = 9'500, kKernelsUs = 20 * 100 + 40 * 20;
    Chance chance(run.seed);
    const CUstream stream = make_stream();
    int64_t work_us = chance.between(kLeastUs, kMostUs);
    for (int64_t spent_us = 0; spent_us < run.steps * 1'000'000; spent_us += work_us + kKernelsUs) {
        work_us = std::clamp(work_us + chance.between(-150, 150), kLeastUs, kMostUs);
        work((work_us + chance.between(0, 500)) * kMicrosecond);
        for (int n = 0; n < 60; ++n) launch(kernel((n % 3 == 0 ? 100 : 20) * kMicrosecond), stream);
        CU(cuStreamSynchronize(stream));
    }
}
