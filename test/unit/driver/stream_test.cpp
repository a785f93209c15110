// Streams: order within one, overlap across several, and the legacy stream's barriers. Times in microseconds
// after the first call; L is the latency of 5 us after a launch call began, each launch call takes 1 us.
#include <iterator>
#include <thread>

#include "core.h"

namespace stream_test {

// s   L....|===a 10===|===b 20===|
//     0    5          15         35
TEST_CASE("work of one stream runs in the order of its calls", "[stream]") {
    Timeline timeline;
    make_context();
    CUstream s = make_stream();
    CUfunction a = kernel("a__10us"), b = kernel("b__20us");
    timeline.start();
    CU(launch(a, s));
    CU(launch(b, s));
    CHECK(timeline.now() == 2'000);
    CHECK(cuStreamQuery(s) == CUDA_ERROR_NOT_READY);
    CU(cuStreamSynchronize(s));
    CHECK(timeline.now() == 35'000);
    CU(cuStreamQuery(s));
    CHECK(timeline.span("a__10us") == "5000-15000");
    CHECK(timeline.span("b__20us") == "15000-35000");
    CHECK(timeline.named("b__20us").enter_ns == 1'000);
    CHECK(timeline.named("b__20us").exit_ns == 2'000);
}

// s   L....|===a 10===|
// t    L....|===b 20========|
//     0    5          15    26
TEST_CASE("streams overlap", "[stream]") {
    Timeline timeline;
    make_context();
    CUstream s = make_stream(), t = make_stream();
    CUfunction a = kernel("a__10us"), b = kernel("b__20us");
    timeline.start();
    CU(launch(a, s));
    CU(launch(b, t));
    CU(cuStreamSynchronize(s));
    CHECK(timeline.now() == 15'000);
    CU(cuCtxSynchronize());
    CHECK(timeline.now() == 26'000);
    CHECK(timeline.span("b__20us") == "6000-26000");
}

// blocking      L....|===a 10===|                  |==c 10==|
// legacy                        |===legacy 10=====|
// non-blocking    ....L....|==free 10==|
//               0    5          15                25       35
TEST_CASE("the legacy stream is a barrier for blocking streams", "[stream]") {
    Timeline timeline;
    make_context();
    CUstream blocking = make_stream(), free = make_stream(CU_STREAM_NON_BLOCKING);
    CUfunction a = kernel("a__10us"), l = kernel("l__10us"), f = kernel("free__10us"), c = kernel("c__10us");
    timeline.start();
    CU(launch(a, blocking));
    CU(launch(l, nullptr));
    CU(launch(f, free));
    CU(launch(c, blocking));
    CU(cuCtxSynchronize());
    CHECK(timeline.span("a__10us") == "5000-15000");
    CHECK(timeline.span("l__10us") == "15000-25000");
    CHECK(timeline.span("free__10us") == "7000-17000");
    CHECK(timeline.span("c__10us") == "25000-35000");
}

// per-thread stream   L....|==a 10==|                  the _ptsz form's stream 0; it is a blocking stream
// legacy                            |==l 10==|
// per-thread stream                          |==b 10==|
TEST_CASE("stream 0 is the thread's own in the per-thread forms", "[stream]") {
    Timeline timeline;
    make_context();
    CUfunction a = kernel("a__10us"), l = kernel("l__10us"), b = kernel("b__10us");
    timeline.start();
    CU(cuLaunchKernel_ptsz(a, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
    CU(launch(l, nullptr));
    CU(launch(b, CU_STREAM_PER_THREAD));
    CHECK(cuStreamQuery_ptsz(CU_STREAM_LEGACY) == CUDA_ERROR_NOT_READY);
    CU(cuStreamSynchronize_ptsz(nullptr));
    CHECK(timeline.now() == 35'000);
    CHECK(timeline.span("l__10us") == "15000-25000");
    CHECK(timeline.span("b__10us") == "25000-35000");
    CHECK(timeline.named("a__10us").stream == timeline.named("b__10us").stream);
    CHECK(timeline.named("a__10us").stream != timeline.named("l__10us").stream);
}

TEST_CASE("each thread has a default stream of its own", "[stream]") {
    CUcontext context = make_context();
    unsigned long long mine = 0, again = 0, others = 0;
    CU(cuStreamGetId(CU_STREAM_PER_THREAD, &mine));
    CU(cuStreamGetId_ptsz(nullptr, &again));
    std::thread([&] {
        cuCtxSetCurrent(context);
        cuStreamGetId(CU_STREAM_PER_THREAD, &others);
    }).join();
    CHECK(mine == again);
    CHECK(others != 0);
    CHECK(others != mine);
}

// destroyed, blocking      L....|====a 30====|
// destroyed, non-blocking   L....|=======b 50=======|
// legacy                                     |=l 10=|
//                          0    5            35     45
TEST_CASE("a stream is destroyed at once, and its work still runs", "[stream]") {
    Timeline timeline;
    make_context();
    CUstream s = make_stream(), t = make_stream(CU_STREAM_NON_BLOCKING);
    CUfunction a = kernel("a__30us"), b = kernel("b__50us"), l = kernel("l__10us");
    timeline.start();
    CU(launch(a, s));
    CU(launch(b, t));
    CU(cuStreamDestroy_v2(s));
    CU(cuStreamDestroy_v2(t));
    CHECK(timeline.now() == 2'000);
    CHECK(cuStreamQuery(s) == CUDA_ERROR_INVALID_HANDLE);
    CU(launch(l, nullptr));
    CU(cuStreamSynchronize(nullptr));
    CHECK(timeline.now() == 45'000);
    CU(cuCtxSynchronize());
    CHECK(timeline.now() == 56'000);
    CHECK(timeline.span("l__10us") == "35000-45000");
}

TEST_CASE("contexts and devices do not wait for each other", "[stream]") {
    Timeline timeline("GPUSIM_DEVICES=2");
    make_context(1);
    CUfunction b = kernel("b__10us");
    make_context(0);
    CUfunction a = kernel("a__10us");
    CU(cuCtxPopCurrent_v2(nullptr));
    timeline.start();
    CU(launch(b));
    CHECK(launch(a) == CUDA_ERROR_INVALID_HANDLE);  // of another context
    CU(cuCtxSynchronize());
    CHECK(timeline.named("b__10us").device == 1);
    CHECK(timeline.span("b__10us") == "5000-15000");
}

TEST_CASE("priorities are kept within the device's range", "[stream]") {
    make_context();
    const int given[] = {-5, -2, 0, -100, 7}, expected[] = {-5, -2, 0, -5, 0};
    for (size_t i = 0; i < std::size(given); ++i) {
        CUstream stream = nullptr;
        int priority = 1;
        CU(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, given[i]));
        CU(cuStreamGetPriority(stream, &priority));
        CHECK(priority == expected[i]);
    }
}

TEST_CASE("what is asked of a stream", "[stream]") {
    box::knobs("GPUSIM_DEVICES=2");
    CUcontext context = make_context(1);
    CUstream stream = make_stream(CU_STREAM_NON_BLOCKING);
    unsigned flags = 9;
    CU(cuStreamGetFlags(stream, &flags));
    CHECK(flags == CU_STREAM_NON_BLOCKING);
    CU(cuStreamGetFlags(nullptr, &flags));
    CHECK(flags == CU_STREAM_DEFAULT);
    unsigned long long id = 0, other = 0;
    CU(cuStreamGetId(stream, &id));
    CU(cuStreamGetId(make_stream(), &other));
    CHECK(id != other);
    make_context(0);  // what a made stream belongs to does not depend on what is current
    CUcontext its = nullptr;
    CUdevice device = -1;
    CU(cuStreamGetCtx(stream, &its));
    CHECK(its == context);
    CU(cuStreamGetDevice(stream, &device));
    CHECK(device == 1);
}

TEST_CASE("attributes of streams", "[stream]") {
    make_context();
    CUstream from = make_stream(), to = make_stream();
    CUstreamAttrValue value{}, read{};
    value.syncPolicy = CU_SYNC_POLICY_YIELD;
    CU(cuStreamSetAttribute(from, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
    CU(cuStreamCopyAttributes(to, from));
    CU(cuStreamGetAttribute(to, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &read));
    CHECK(read.syncPolicy == CU_SYNC_POLICY_YIELD);
    value = {};
    value.memSyncDomain = CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE;
    CU(cuStreamSetAttribute(from, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, &value));
    CU(cuStreamGetAttribute(from, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, &read));
    CHECK(read.memSyncDomain == CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE);
    CHECK(cuStreamSetAttribute(from, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &value) ==
          CUDA_ERROR_INVALID_VALUE);
    make_context();
    CHECK(cuStreamCopyAttributes(make_stream(), from) == CUDA_ERROR_INVALID_VALUE);  // of another context
}

TEST_CASE("wrong arguments about streams", "[stream]") {
    make_context();
    int not_a_stream = 0;
    auto* wrong = reinterpret_cast<CUstream>(&not_a_stream);
    CUstream stream = nullptr;
    CHECK(cuStreamCreate(nullptr, 0) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuStreamCreate(&stream, 2) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuStreamQuery(wrong) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(cuStreamSynchronize(wrong) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(cuStreamDestroy_v2(wrong) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(cuStreamDestroy_v2(CU_STREAM_LEGACY) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(cuStreamGetId(make_stream(), nullptr) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuStreamWaitEvent(nullptr, make_event(), 0x40) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuLaunchHostFunc(nullptr, nullptr, nullptr) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuStreamAddCallback(nullptr, nullptr, nullptr, 0) == CUDA_ERROR_INVALID_VALUE);
}

}  // namespace stream_test
