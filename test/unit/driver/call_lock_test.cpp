#include "driver/call_lock.h"

#include <sys/prctl.h>

#include <catch2/catch.hpp>
#include <thread>

#include "core.h"

namespace call_lock_test {

namespace {

const std::string kLock = "GPUSIM_LOCK_NS=1000 ";

int64_t ns_of_query(CUevent event) {
    const int64_t begun_ns = gpusim::clock::now();
    cuEventQuery(event);
    return gpusim::clock::now() - begun_ns;
}

void beside_program(CUcontext context, void (*calls)(CUevent), CUevent event) {
    std::thread([=] {
        prctl(PR_SET_NAME, "gpushim");
        CU(cuCtxSetCurrent(context));
        calls(event);
    }).join();
}

}  // namespace

TEST_CASE("without a cost the lock costs nothing", "[call_lock]") {
    box::knobs(kStepped);
    make_context();
    CHECK(ns_of_query(make_event()) == 0);
}

TEST_CASE("a call holds the lock beside its own time, and works from then on", "[call_lock]") {
    //   call   |lock|launch|
    //   kernel      |-- latency --|==step==|
    Timeline timeline(kStepped + kLock);
    make_context();
    const CUfunction step = kernel("step__10us");
    timeline.start();
    CU(launch(step));
    CHECK(timeline.now() == 2'000);
    CU(cuCtxSynchronize());
    CHECK(timeline.span("step__10us") == "6000-16000");
    CHECK(timeline.named("step__10us").enter_ns == 0);
}

TEST_CASE("what asks nothing of a device takes no lock", "[call_lock]") {
    box::knobs(kStepped + kLock);
    make_context();
    const int64_t begun_ns = gpusim::clock::now();
    CUcontext current = nullptr;
    CU(cuCtxGetCurrent(&current));
    CHECK(gpusim::clock::now() == begun_ns);
}

TEST_CASE("the program waits for the recorder's call that has the lock, not for those behind it",
          "[call_lock]") {
    //   recorder   |lock|lock|lock|
    //   program      |..|lock|
    box::knobs(kStepped + kLock);
    const CUcontext context = make_context();
    const CUevent event = make_event();
    beside_program(
        context,
        [](CUevent one) {
            for (int i = 0; i < 3; ++i) cuEventQuery(one);
        },
        event);
    gpusim_advance_ns(400);
    CHECK(ns_of_query(event) == 600 + 1'000);
    gpusim_advance_ns(5'000);
    CHECK(ns_of_query(event) == 1'000);
}

TEST_CASE("in real time no two calls have the lock at once", "[call_lock]") {
    constexpr int kCalls = 100;
    box::knobs("GPUSIM_LOCK_NS=20000 GPUSIM_CALL_NS=0");
    const CUcontext context = make_context();
    const CUevent event = make_event();
    const int64_t begun_ns = gpusim::clock::now();
    const auto ask = [&] {
        CU(cuCtxSetCurrent(context));
        for (int i = 0; i < kCalls; ++i) cuEventQuery(event);
    };
    std::thread other(ask);
    ask();
    other.join();
    CHECK(gpusim::clock::now() - begun_ns >= 2 * kCalls * 20'000);
}

}  // namespace call_lock_test
