// Several streams, several threads, several devices.
#include <pthread.h>

#include <atomic>
#include <thread>
#include <vector>

#include "work.h"

using namespace accuracy;

WORKLOAD(many_streams, 1, 300, "eight streams, kernels of 20 to 100 us in turns, all beside each other") {
    std::vector<CUstream> streams;
    for (int i = 0; i < 8; ++i) streams.push_back(make_stream());
    for (int64_t i = 0; i < run.steps; ++i) {
        for (const CUstream stream : streams) launch(kernel(20 * kMicrosecond), stream);
        for (const CUstream stream : streams) launch(kernel(100 * kMicrosecond), stream);
        if (i % 10 == 9) {
            CU(cuCtxSynchronize());
            work(500 * kMicrosecond);
        }
    }
}

WORKLOAD(cross_stream_waits, 1, 1'000,
         "a chain of kernels of 30 us that goes back and forth between streams") {
    const CUstream left = make_stream(), right = make_stream();
    const CUevent there = make_event(), back = make_event();
    for (int64_t i = 0; i < run.steps; ++i) {
        launch(kernel(30 * kMicrosecond), left);
        CU(cuEventRecord(there, left));
        CU(cuStreamWaitEvent(right, there, 0));
        launch(kernel(30 * kMicrosecond), right);
        CU(cuEventRecord(back, right));
        CU(cuStreamWaitEvent(left, back, 0));
        if (i % 50 == 49) CU(cuCtxSynchronize());
    }
    CU(cuCtxSynchronize());
}

WORKLOAD(legacy_barriers, 1, 500, "two blocking streams with the legacy stream as a barrier between rounds") {
    const CUstream one = make_stream(CU_STREAM_DEFAULT), two = make_stream(CU_STREAM_DEFAULT);
    for (int64_t i = 0; i < run.steps; ++i) {
        launch(kernel(50 * kMicrosecond), one);
        launch(kernel(20 * kMicrosecond), two);
        launch(kernel(10 * kMicrosecond), nullptr);
        if (i % 50 == 49) CU(cuCtxSynchronize());
    }
    CU(cuCtxSynchronize());
}

WORKLOAD(host_functions, 1, 300, "host functions of 100 us in the stream between kernels of 50 us") {
    const CUstream stream = make_stream();
    for (int64_t i = 0; i < run.steps; ++i) {
        launch(kernel(50 * kMicrosecond), stream);
        CU(cuLaunchHostFunc(
            stream, [](void*) { work(100 * kMicrosecond); }, nullptr));
        launch(kernel(50 * kMicrosecond), stream);
        if (i % 10 == 9) CU(cuStreamSynchronize(stream));
    }
    CU(cuStreamSynchronize(stream));
}

// Threads take turns, so that a run is the same every time.
WORKLOAD(per_thread_streams, 1, 300, "three threads in turns, each on its own default stream") {
    constexpr int kThreads = 3;
    std::atomic<int64_t> turn = 0;
    const CUcontext context = use_device(0);
    std::vector<std::thread> threads;
    for (int me = 0; me < kThreads; ++me) {
        threads.emplace_back([&, me] {
            CU(cuCtxSetCurrent(context));
            for (int64_t i = 0; i < run.steps; ++i) {
                while (turn.load() != i * kThreads + me) std::this_thread::yield();
                for (int n = 0; n < 3; ++n) launch(kernel(20 * kMicrosecond), CU_STREAM_PER_THREAD);
                if (i % 20 == 19) CU(cuStreamSynchronize(CU_STREAM_PER_THREAD));
                turn.fetch_add(1);
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    CU(cuCtxSynchronize());
}

WORKLOAD(two_devices, 2, 300, "two devices from one thread, one after the other, and a copy between them") {
    use_device(1);
    const CUstream right = make_stream();
    const CUdeviceptr there = device_memory(1 << 20);
    use_device(0);
    const CUstream left = make_stream();
    const CUdeviceptr here = device_memory(1 << 20);
    for (int64_t i = 0; i < run.steps; ++i) {
        for (int n = 0; n < 10; ++n) launch(kernel(20 * kMicrosecond), left);
        CU(cuMemcpyPeerAsync(there, use_device(1), here, use_device(0), 1 << 20, left));
        CU(cuStreamSynchronize(left));
        use_device(1);
        for (int n = 0; n < 5; ++n) launch(kernel(100 * kMicrosecond), right);
        if (i % 3 == 2) CU(cuStreamSynchronize(right));
        use_device(0);
    }
    use_device(1);
    CU(cuCtxSynchronize());
}
