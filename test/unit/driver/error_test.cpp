// Errors: their names, those that come later and stay, and those that a knob asks for.
#include <cstring>
#include <thread>

#include "core.h"

namespace error_test {

namespace {

std::string name_of(int error) {
    const char* text = nullptr;
    return cuGetErrorName(static_cast<CUresult>(error), &text) == CUDA_SUCCESS ? text : "";
}

std::string words_of(int error) {
    const char* text = nullptr;
    return cuGetErrorString(static_cast<CUresult>(error), &text) == CUDA_SUCCESS ? text : "";
}

// The context's error is met by a launch and by waiting for it.
void break_context(const char* kernel_name, CUresult error) {
    CU(launch(kernel(kernel_name)));
    REQUIRE(cuCtxSynchronize() == error);
}

}  // namespace

TEST_CASE("errors have names and descriptions", "[error]") {
    CHECK(name_of(0) == "CUDA_SUCCESS");
    CHECK(name_of(1) == "CUDA_ERROR_INVALID_VALUE");
    CHECK(name_of(CUDA_ERROR_LAUNCH_FAILED) == "CUDA_ERROR_LAUNCH_FAILED");
    CHECK(name_of(999) == "CUDA_ERROR_UNKNOWN");
    CHECK(words_of(0) == "no error");
    CHECK(words_of(CUDA_ERROR_ILLEGAL_ADDRESS) == "illegal address");
    int named = 0;
    for (int error = 0; error < 1024; ++error) {
        CHECK(name_of(error).empty() == words_of(error).empty());
        named += !name_of(error).empty();
    }
    CHECK(named == 101);
    const char* text = "something";
    CHECK(cuGetErrorName(static_cast<CUresult>(1000), &text) == CUDA_ERROR_INVALID_VALUE);
    CHECK(text == nullptr);
    CHECK(cuGetErrorString(CUDA_SUCCESS, nullptr) == CUDA_ERROR_INVALID_VALUE);
}

// s   L....|==broken 10==|             the launch returns at 1; the error is there from 15 on
// t     (idle)
TEST_CASE("an asynchronous error shows when its time comes, and stays", "[error]") {
    Timeline timeline;
    make_context();
    CUstream s = make_stream(CU_STREAM_NON_BLOCKING), t = make_stream(CU_STREAM_NON_BLOCKING);
    CUevent event = make_event();
    CUfunction broken = kernel("broken__fault719__10us"), fine = kernel("fine__1us");
    timeline.start();
    CU(launch(broken, s));
    CHECK(timeline.now() == 1'000);
    CU(cuStreamQuery(t));
    CHECK(cuStreamQuery(s) == CUDA_ERROR_NOT_READY);
    CU(launch(fine, t));
    CU(cuEventRecord(event, t));
    CHECK(cuStreamSynchronize(s) == CUDA_ERROR_LAUNCH_FAILED);
    CHECK(timeline.now() == 15'000);
    CHECK(launch(fine, t) == CUDA_ERROR_LAUNCH_FAILED);
    CHECK(cuStreamQuery(t) == CUDA_ERROR_LAUNCH_FAILED);
    CHECK(cuEventQuery(event) == CUDA_ERROR_LAUNCH_FAILED);
    CHECK(cuCtxSynchronize() == CUDA_ERROR_LAUNCH_FAILED);
    CUdeviceptr memory = 0;
    CHECK(cuMemAlloc_v2(&memory, 16) == CUDA_ERROR_LAUNCH_FAILED);
    CHECK(timeline.all().size() == 3);  // what was refused is not in the truth
}

TEST_CASE("a kernel's name says which error it ends in", "[error]") {
    box::knobs("GPUSIM_CALL_NS=0");
    const std::pair<const char*, CUresult> names[] = {{"a__fault700__1us", CUDA_ERROR_ILLEGAL_ADDRESS},
                                                      {"b__fault__1us", CUDA_ERROR_LAUNCH_FAILED},
                                                      {"c__fault214", CUDA_ERROR_ECC_UNCORRECTABLE}};
    for (const auto& [name, error] : names) {
        CUcontext context = make_context();
        break_context(name, error);
        CU(cuCtxDestroy_v2(context));
    }
    make_context();
    CU(cuCtxSynchronize());
}

TEST_CASE("an error belongs to its context, for all threads", "[error]") {
    CUcontext broken = make_context();
    break_context("broken__fault719__1us", CUDA_ERROR_LAUNCH_FAILED);
    CUresult elsewhere = CUDA_SUCCESS;
    std::thread([&] {
        cuCtxSetCurrent(broken);
        elsewhere = cuCtxSynchronize();
    }).join();
    CHECK(elsewhere == CUDA_ERROR_LAUNCH_FAILED);
    CUstream in_broken = nullptr;
    CHECK(cuStreamCreate(&in_broken, 0) == CUDA_ERROR_LAUNCH_FAILED);
    make_context();
    CU(launch(kernel("fine__1us")));
    CU(cuCtxSynchronize());
}

TEST_CASE("work for a broken context's stream is refused from any context", "[error]") {
    CUcontext broken = make_context();
    CUstream stream = make_stream();
    CUfunction fine = kernel("fine__1us");
    break_context("broken__fault719__1us", CUDA_ERROR_LAUNCH_FAILED);
    make_context();
    CHECK(launch(fine, stream) == CUDA_ERROR_LAUNCH_FAILED);
    CHECK(cuStreamSynchronize(stream) == CUDA_ERROR_LAUNCH_FAILED);
    CU(cuCtxDestroy_v2(broken));
}

TEST_CASE("a reset primary context is whole again", "[error]") {
    CU(cuInit(0));
    CUcontext context = nullptr;
    CU(cuDevicePrimaryCtxRetain(&context, 0));
    CU(cuCtxSetCurrent(context));
    break_context("broken__fault719__1us", CUDA_ERROR_LAUNCH_FAILED);
    CUdevice device = -1;
    CU(cuCtxGetDevice(&device));  // asks nothing of the device
    CU(cuDevicePrimaryCtxReset_v2(0));
    CU(cuDevicePrimaryCtxRetain(&context, 0));
    CU(cuCtxSetCurrent(context));
    CU(launch(kernel("fine__1us")));
    CU(cuCtxSynchronize());
}

TEST_CASE("a call told to fail does so once and does nothing", "[error]") {
    Timeline timeline("GPUSIM_FAIL=cuLaunchKernel:2:2,cuStreamCreate:1:999,cuInit:1:100");
    CHECK(cuInit(0) == CUDA_ERROR_NO_DEVICE);
    CHECK(cuCtxSynchronize() == CUDA_ERROR_NOT_INITIALIZED);
    make_context();
    CUstream stream = nullptr;
    CHECK(cuStreamCreate(&stream, 0) == CUDA_ERROR_UNKNOWN);
    CHECK(stream == nullptr);
    CU(cuStreamCreate(&stream, 0));
    CUfunction f = kernel("f__1us");
    CU(launch(f));
    CHECK(launch(f) == CUDA_ERROR_OUT_OF_MEMORY);
    CU(launch(f));
    CU(cuLaunchKernel_ptsz(f, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
    CU(cuCtxSynchronize());
    CHECK(timeline.all().size() == 3);
}

}  // namespace error_test
