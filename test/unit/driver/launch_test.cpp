// Launching kernels, in all forms.
#include <algorithm>
#include <cstring>
#include <thread>

#include "core.h"

namespace launch_test {

namespace {

// A kernel with an 8-byte and two 4-byte parameters.
constexpr char kAddPtx[] = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry add__3us(.param .u64 data, .param .u32 count, .param .f32 scale) { ret; }
)";

CUfunction add() {
    CUfunction function = nullptr;
    CU(cuModuleGetFunction(&function, load(kAddPtx), "add__3us"));
    return function;
}

CUresult launch_shape(CUfunction f, std::vector<unsigned> grid, std::vector<unsigned> block,
                      unsigned shared = 0) {
    return cuLaunchKernel(f, grid[0], grid[1], grid[2], block[0], block[1], block[2], shared, nullptr,
                          nullptr, nullptr);
}

CUlaunchConfig config_of(unsigned grid, unsigned block, CUlaunchAttribute* attributes = nullptr,
                         unsigned count = 0) {
    CUlaunchConfig config{};
    config.gridDimX = grid, config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = block, config.blockDimY = config.blockDimZ = 1;
    config.attrs = attributes, config.numAttrs = count;
    return config;
}

CUlaunchAttribute cluster(unsigned x) {
    CUlaunchAttribute attribute{};
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim = {x, 1, 1};
    return attribute;
}

size_t kernels_in(const Timeline& timeline) {
    const auto all = timeline.all();
    return static_cast<size_t>(
        std::count_if(all.begin(), all.end(), [](const Truth& t) { return t.op == "kernel"; }));
}

}  // namespace

TEST_CASE("a kernel whose name says nothing lasts as long as it is told", "[launch]") {
    Timeline timeline("GPUSIM_DURATIONS=a__7us=1500,dull=30 GPUSIM_KERNEL_US=4");
    make_context();
    const std::pair<const char*, int> names[] = {
        {"a__7us", 1500}, {"b__7us", 7000}, {"_Z4dullv", 30}, {"c", 4000}};
    for (const auto& [name, ns] : names) {
        CU(launch(kernel(name)));
        CHECK(timeline.named(name).end_ns - timeline.named(name).start_ns == ns);
    }
}

TEST_CASE("a kernel lasts as long as its name says", "[launch]") {
    Timeline timeline("GPUSIM_KERNEL_US=4");
    make_context();
    const std::pair<const char*, int> names[] = {
        {"a__7us", 7000}, {"b__250ns", 250},        {"c", 4000},
        {"d__us", 4000},  {"_Z7e__12usPfi", 12000}, {"_Z6f__3usIfEvPT_", 3000}};
    for (const auto& [name, ns] : names) {
        CU(launch(kernel(name)));
        CHECK(timeline.named(name).end_ns - timeline.named(name).start_ns == ns);
    }
}

TEST_CASE("shapes that no device can run", "[launch]") {
    make_context();
    CUfunction f = kernel("f__1us");
    CU(launch_shape(f, {2147483647, 65535, 65535}, {1024, 1, 1}));
    CU(launch_shape(f, {1, 1, 1}, {16, 1, 64}));
    CHECK(launch_shape(f, {0, 1, 1}, {1, 1, 1}) == CUDA_ERROR_INVALID_VALUE);
    CHECK(launch_shape(f, {1, 65536, 1}, {1, 1, 1}) == CUDA_ERROR_INVALID_VALUE);
    CHECK(launch_shape(f, {1, 1, 65536}, {1, 1, 1}) == CUDA_ERROR_INVALID_VALUE);
    CHECK(launch_shape(f, {1, 1, 1}, {1, 0, 1}) == CUDA_ERROR_INVALID_VALUE);
    CHECK(launch_shape(f, {1, 1, 1}, {1025, 1, 1}) == CUDA_ERROR_INVALID_VALUE);
    CHECK(launch_shape(f, {1, 1, 1}, {32, 33, 1}) == CUDA_ERROR_INVALID_VALUE);
    CHECK(launch_shape(f, {1, 1, 1}, {1, 1, 65}) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("dynamic shared memory above the usual limit has to be asked for", "[launch]") {
    make_context();
    CUfunction f = kernel("f__1us");
    CU(launch_shape(f, {1, 1, 1}, {1, 1, 1}, 49152));
    CHECK(launch_shape(f, {1, 1, 1}, {1, 1, 1}, 49153) == CUDA_ERROR_INVALID_VALUE);
    CU(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232448));
    CU(launch_shape(f, {1, 1, 1}, {1, 1, 1}, 232448));
    CHECK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232449) ==
          CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("parameters are given singly or as one buffer, not both, not too few", "[launch]") {
    make_context();
    CUfunction f = add();
    uint64_t data = 0;
    unsigned count = 1;
    float scale = 2;
    void* single[] = {&data, &count, &scale};
    char buffer[16] = {};
    size_t size = sizeof buffer;
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    const auto go = [&](void** one, void** other) {
        return cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, nullptr, one, other);
    };
    CU(go(single, nullptr));
    CU(go(nullptr, extra));
    CHECK(go(single, extra) == CUDA_ERROR_INVALID_VALUE);
    CHECK(go(nullptr, nullptr) == CUDA_ERROR_INVALID_VALUE);
    size = 15;
    CHECK(go(nullptr, extra) == CUDA_ERROR_INVALID_VALUE);
    size = 16;
    extra[0] = &size;
    CHECK(go(nullptr, extra) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("a launch needs a function, a stream and a context", "[launch]") {
    make_context();
    CUfunction f = kernel("f__1us");
    int nothing = 0;
    CHECK(launch(nullptr) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(launch(reinterpret_cast<CUfunction>(&nothing)) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(launch(f, reinterpret_cast<CUstream>(&nothing)) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(cuLaunchKernelEx(nullptr, f, nullptr, nullptr) == CUDA_ERROR_INVALID_VALUE);
    CU(cuCtxPopCurrent_v2(nullptr));
    CHECK(launch(f) == CUDA_ERROR_INVALID_CONTEXT);
}

TEST_CASE("every form of launching runs one kernel", "[launch]") {
    Timeline timeline;
    make_context();
    CUfunction f = kernel("f__1us");
    CUstream s = make_stream();
    CUlaunchConfig config = config_of(1, 1);
    config.hStream = s;
    CU(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, nullptr, nullptr));
    CU(cuLaunchKernel_ptsz(f, 1, 1, 1, 1, 1, 1, 0, s, nullptr, nullptr));
    CU(cuLaunchKernelEx(&config, f, nullptr, nullptr));
    CU(cuLaunchKernelEx_ptsz(&config, f, nullptr, nullptr));
    CU(cuLaunchCooperativeKernel(f, 1, 1, 1, 1, 1, 1, 0, s, nullptr));
    CU(cuLaunchCooperativeKernel_ptsz(f, 1, 1, 1, 1, 1, 1, 0, s, nullptr));
    CU(cuFuncSetBlockShape(f, 32, 2, 1));
    CU(cuLaunch(f));
    CU(cuLaunchGrid(f, 4, 4));
    CU(cuLaunchGridAsync(f, 4, 4, s));
    CU(cuCtxSynchronize());
    CHECK(kernels_in(timeline) == 9);
}

TEST_CASE("the first form of launching keeps shape and parameters in the function", "[launch]") {
    make_context();
    CUfunction f = add();
    CHECK(cuLaunchGrid(f, 1, 1) == CUDA_ERROR_INVALID_VALUE);  // no parameters yet
    uint64_t data = 0;
    CU(cuParamSetv(f, 0, &data, sizeof data));
    CU(cuParamSeti(f, 8, 3));
    CU(cuParamSetf(f, 12, 2.0f));
    CU(cuParamSetSize(f, 16));
    CU(cuLaunchGrid(f, 1, 1));
    CHECK(cuLaunchGrid(f, 0, 1) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuFuncSetBlockShape(f, 0, 1, 1) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuParamSeti(f, -1, 1) == CUDA_ERROR_INVALID_VALUE);
    CU(cuFuncSetBlockShape(f, 1024, 2, 1));
    CHECK(cuLaunchGrid(f, 1, 1) == CUDA_ERROR_INVALID_VALUE);
    CU(cuFuncSetBlockShape(f, 1024, 1, 1));
    CU(cuFuncSetSharedSize(f, 50000));
    CHECK(cuLaunchGrid(f, 1, 1) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("cooperative kernels must fit on the device at once", "[launch]") {
    make_context();
    CUfunction f = kernel("f__1us");  // 132 multiprocessors of 2048 threads
    CU(cuLaunchCooperativeKernel(f, 264, 1, 1, 1024, 1, 1, 0, nullptr, nullptr));
    CHECK(cuLaunchCooperativeKernel(f, 265, 1, 1, 1024, 1, 1, 0, nullptr, nullptr) ==
          CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    CUlaunchAttribute cooperative{};
    cooperative.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    cooperative.value.cooperative = 1;
    CUlaunchConfig config = config_of(265, 1024, &cooperative, 1);
    CHECK(cuLaunchKernelEx(&config, f, nullptr, nullptr) == CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    cooperative.value.cooperative = 0;
    CU(cuLaunchKernelEx(&config, f, nullptr, nullptr));
}

TEST_CASE("a grid is made of whole clusters", "[launch]") {
    make_context();
    CUfunction f = kernel("f__1us");
    CUlaunchAttribute attribute = cluster(8);
    CUlaunchConfig config = config_of(16, 32, &attribute, 1);
    CU(cuLaunchKernelEx(&config, f, nullptr, nullptr));
    config.gridDimX = 12;
    CHECK(cuLaunchKernelEx(&config, f, nullptr, nullptr) == CUDA_ERROR_INVALID_CLUSTER_SIZE);
    attribute = cluster(0);
    CHECK(cuLaunchKernelEx(&config, f, nullptr, nullptr) == CUDA_ERROR_INVALID_CLUSTER_SIZE);
    config = config_of(32, 32, &attribute, 1);
    attribute = cluster(32);
    CHECK(cuLaunchKernelEx(&config, f, nullptr, nullptr) == CUDA_ERROR_INVALID_CLUSTER_SIZE);
    attribute.id = CU_LAUNCH_ATTRIBUTE_MAX;
    CHECK(cuLaunchKernelEx(&config, f, nullptr, nullptr) == CUDA_ERROR_INVALID_VALUE);
    attribute.id = CU_LAUNCH_ATTRIBUTE_IGNORE;
    CU(cuLaunchKernelEx(&config, f, nullptr, nullptr));
    config = config_of(1, 1, nullptr, 1);
    CHECK(cuLaunchKernelEx(&config, f, nullptr, nullptr) == CUDA_ERROR_INVALID_VALUE);
}

// legacy   L....|===f 10===|          the event of the launch stands for its end; it is no command of its own
//          0    5          15
TEST_CASE("a launch may record an event", "[launch]") {
    Timeline timeline;
    make_context();
    CUevent event = make_event(CU_EVENT_DISABLE_TIMING);
    CUfunction f = kernel("f__10us");
    CUlaunchAttribute attribute{};
    attribute.id = CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT;
    attribute.value.launchCompletionEvent.event = event;
    CUlaunchConfig config = config_of(1, 1, &attribute, 1);
    timeline.start();
    CU(cuLaunchKernelEx(&config, f, nullptr, nullptr));
    CHECK(cuEventQuery(event) == CUDA_ERROR_NOT_READY);
    CU(cuEventSynchronize(event));
    CHECK(timeline.now() == 15'000);
    CHECK(timeline.all().size() == 1);
    attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT;
    attribute.value.programmaticEvent.event = reinterpret_cast<CUevent>(&config);
    CHECK(cuLaunchKernelEx(&config, f, nullptr, nullptr) == CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("eight threads launch on streams of their own", "[launch]") {
    box::knobs("GPUSIM_LAUNCH_NS=0 GPUSIM_CALL_NS=0 GPUSIM_LATENCY_NS=0");
    CUcontext context = make_context();
    CUfunction f = kernel("f__100ns");
    int launched[8] = {};
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
        threads.emplace_back([=, &launched] {
            CUstream stream = nullptr;
            cuCtxSetCurrent(context);
            cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
            for (int n = 0; n < 500; ++n) launched[i] += launch(f, stream) == CUDA_SUCCESS;
            launched[i] += cuStreamSynchronize(stream) == CUDA_SUCCESS;
            launched[i] += cuStreamDestroy_v2(stream) == CUDA_SUCCESS;
        });
    for (auto& thread : threads) thread.join();
    for (int count : launched) CHECK(count == 502);
    CU(cuCtxSynchronize());
}

}  // namespace launch_test
