// Events: recorded, waited for, asked, compared. An event record is a command of its own: 500 ns on the
// device, stamped at its end; the record call takes 100 ns. Times in microseconds after the first call.
#include "core.h"

namespace event_test {

namespace {

float elapsed_ms(CUevent start, CUevent end) {
    float ms = -1;
    CU(cuEventElapsedTime(&ms, start, end));
    return ms;
}

}  // namespace

// s   |e0 .5|  L.|===a 10===|e1 .5|          e0 stamps at 0.5, a starts at 0.1+5, e1 stamps at 15.6
//     0     .5   5.1        15.1  15.6
TEST_CASE("elapsed time is the difference of two stamps", "[event]") {
    Timeline timeline;
    make_context();
    CUstream s = make_stream();
    CUevent e0 = make_event(), e1 = make_event();
    CUfunction a = kernel("a__10us");
    timeline.start();
    CU(cuEventRecord(e0, s));
    CHECK(timeline.now() == 100);
    CU(launch(a, s));
    CU(cuEventRecord(e1, s));
    float ms = -1;
    CHECK(cuEventElapsedTime(&ms, e0, e1) == CUDA_ERROR_NOT_READY);
    CHECK(cuEventQuery(e1) == CUDA_ERROR_NOT_READY);
    CU(cuEventSynchronize(e1));
    CHECK(timeline.now() == 15'600);
    CU(cuEventQuery(e1));
    CHECK(elapsed_ms(e0, e1) == Approx(0.0151));
    CHECK(elapsed_ms(e1, e0) == Approx(-0.0151));
    CHECK(elapsed_ms(e0, e0) == 0);
    CU(cuEventElapsedTime_v2(&ms, e0, e1));
    CHECK(ms == Approx(0.0151));
}

TEST_CASE("an event that was never recorded", "[event]") {
    make_context();
    CUevent never = make_event(), recorded = make_event();
    CU(cuEventRecord(recorded, nullptr));
    CU(cuEventSynchronize(recorded));
    CU(cuEventQuery(never));
    CU(cuEventSynchronize(never));
    CU(cuStreamWaitEvent(make_stream(), never, 0));
    float ms = 0;
    CHECK(cuEventElapsedTime(&ms, never, recorded) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(cuEventElapsedTime(&ms, recorded, never) == CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("an event without timing has no elapsed time", "[event]") {
    make_context();
    CUevent timed = make_event(), untimed = make_event(CU_EVENT_DISABLE_TIMING);
    CU(cuEventRecord(timed, nullptr));
    CU(cuEventRecord(untimed, nullptr));
    CU(cuCtxSynchronize());
    CU(cuEventQuery(untimed));
    float ms = 0;
    CHECK(cuEventElapsedTime(&ms, timed, untimed) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(cuEventElapsedTime(&ms, untimed, timed) == CUDA_ERROR_INVALID_HANDLE);
}

// s   L....|===a 20===|e|
// t                     |==b 10==|          t waits for e
//     0    5          25 25.5    35.5
TEST_CASE("a stream waits for another's event", "[event]") {
    Timeline timeline;
    make_context();
    CUstream s = make_stream(CU_STREAM_NON_BLOCKING), t = make_stream(CU_STREAM_NON_BLOCKING);
    CUevent e = make_event();
    CUfunction a = kernel("a__20us"), b = kernel("b__10us");
    timeline.start();
    CU(launch(a, s));
    CU(cuEventRecord(e, s));
    CU(cuStreamWaitEvent(t, e, 0));
    CHECK(timeline.now() == 1'100);  // the host does not wait
    CU(launch(b, t));
    CU(cuStreamSynchronize(t));
    CHECK(timeline.span("b__10us") == "25500-35500");
}

TEST_CASE("a stream of another device waits for an event", "[event]") {
    Timeline timeline("GPUSIM_DEVICES=2");
    CUcontext first = make_context(0);
    CUstream s = make_stream();
    CUevent e = make_event();
    CUfunction a = kernel("a__20us");
    make_context(1);
    CUstream t = make_stream();
    CUfunction b = kernel("b__10us");
    timeline.start();
    CU(launch(a, s));
    CU(cuEventRecord(e, s));
    CU(cuStreamWaitEvent(t, e, 0));
    CU(launch(b, t));
    CU(cuStreamSynchronize(t));
    CHECK(timeline.span("b__10us") == "25500-35500");
    CHECK(cuEventRecord(e, t) == CUDA_ERROR_INVALID_HANDLE);  // it belongs to the other context
    CUevent here = make_event();
    CU(cuEventRecord(here, t));
    CU(cuEventSynchronize(here));
    float ms = 0;
    CHECK(cuEventElapsedTime(&ms, e, here) == CUDA_ERROR_INVALID_HANDLE);
    CU(cuCtxDestroy_v2(first));
}

// s   L....|==a 10==|e|==b 10==|e|        e is recorded twice; t waited for the first record
// t                   |=====c 20=====|
//     0    5        15 15.5 25.5 26  35.5
TEST_CASE("a wait keeps to the record it met, a query to the latest", "[event]") {
    Timeline timeline;
    make_context();
    CUstream s = make_stream(CU_STREAM_NON_BLOCKING), t = make_stream(CU_STREAM_NON_BLOCKING);
    CUevent e = make_event();
    CUfunction a = kernel("a__10us"), b = kernel("b__10us"), c = kernel("c__20us");
    timeline.start();
    CU(launch(a, s));
    CU(cuEventRecord(e, s));
    CU(cuStreamWaitEvent(t, e, 0));
    CU(launch(b, s));
    CU(cuEventRecord(e, s));
    CU(launch(c, t));
    gpusim_advance_ns(20'000);
    CHECK(cuEventQuery(e) == CUDA_ERROR_NOT_READY);
    CU(cuEventSynchronize(e));
    CHECK(timeline.now() == 26'000);
    CU(cuCtxSynchronize());
    CHECK(timeline.span("c__20us") == "15500-35500");
}

TEST_CASE("an event on the legacy stream stands for all blocking streams", "[event]") {
    Timeline timeline;
    make_context();
    CUstream s = make_stream();
    CUevent e = make_event();
    CUfunction a = kernel("a__20us");
    timeline.start();
    CU(launch(a, s));
    CU(cuEventRecord(e, nullptr));
    CU(cuEventSynchronize(e));
    CHECK(timeline.now() == 25'500);
}

TEST_CASE("an event is destroyed before it is reached", "[event]") {
    Timeline timeline;
    make_context();
    CUstream s = make_stream(), t = make_stream();
    CUevent e = make_event();
    CUfunction a = kernel("a__20us"), b = kernel("b__10us");
    timeline.start();
    CU(launch(a, s));
    CU(cuEventRecord(e, s));
    CU(cuStreamWaitEvent(t, e, 0));
    CU(cuEventDestroy_v2(e));
    CHECK(timeline.now() == 1'100);
    CU(launch(b, t));
    CU(cuCtxSynchronize());
    CHECK(timeline.span("b__10us") == "25500-35500");
    CHECK(cuEventQuery(e) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(cuEventDestroy_v2(e) == CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("wrong arguments about events", "[event]") {
    make_context();
    CUevent event = make_event();
    int not_an_event = 0;
    auto* wrong = reinterpret_cast<CUevent>(&not_an_event);
    CHECK(cuEventCreate(nullptr, 0) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuEventCreate(&event, 0x80) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuEventCreate(&event, CU_EVENT_INTERPROCESS) == CUDA_ERROR_INVALID_VALUE);  // needs DISABLE_TIMING
    CHECK(cuEventRecord(wrong, nullptr) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(cuEventRecord(event, reinterpret_cast<CUstream>(&not_an_event)) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(cuEventRecordWithFlags(event, nullptr, 8) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuEventQuery(wrong) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(cuEventSynchronize(wrong) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(cuStreamWaitEvent(nullptr, wrong, 0) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(cuEventElapsedTime(nullptr, event, event) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("the device's clock may drift", "[event]") {
    Timeline timeline("GPUSIM_CLOCK_DRIFT_PPM=1000");
    make_context();
    CUevent e0 = make_event(), e1 = make_event();
    CUfunction a = kernel("a__10000us");
    CU(cuEventRecord(e0, nullptr));
    CU(launch(a));
    CU(cuEventRecord(e1, nullptr));
    CU(cuCtxSynchronize());
    // 10'000 us and the 5.1 us until it starts, in device time a thousandth more
    CHECK(elapsed_ms(e0, e1) == Approx(10.0051 * 1.001).epsilon(1e-5));
    CHECK(timeline.named("a__10000us").end_ns - timeline.named("a__10000us").start_ns == 10'000'000);
}

TEST_CASE("the device's clock may jump", "[event]") {
    box::knobs(kStepped + "GPUSIM_CLOCK_JUMP_US=5000:300");  // 5 ms after cuInit it goes 300 us forward
    make_context();
    CUevent e0 = make_event(), e1 = make_event(), e2 = make_event();
    CUfunction a = kernel("a__10000us");
    CU(cuEventRecord(e0, nullptr));
    CU(launch(a));
    CU(cuEventRecord(e1, nullptr));
    CU(launch(a));
    CU(cuEventRecord(e2, nullptr));
    CU(cuCtxSynchronize());
    CHECK(elapsed_ms(e0, e1) == Approx(10.0051 + 0.3).epsilon(1e-5));
    CHECK(elapsed_ms(e1, e2) == Approx(10.0005).epsilon(1e-5));
}

}  // namespace event_test
