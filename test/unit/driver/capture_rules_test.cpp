// Potentially unsafe calls: by the mode of the capture, the mode of the calling thread, and whose capture it
// is.
#include <functional>

#include "graph_bench.h"

namespace capture_rules_test {

namespace {

constexpr auto kGlobal = CU_STREAM_CAPTURE_MODE_GLOBAL;
constexpr auto kLocal = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
constexpr auto kRelaxed = CU_STREAM_CAPTURE_MODE_RELAXED;

struct Rule {
    CUstreamCaptureMode capture, thread;
    bool same_thread_may, other_thread_may;
};

constexpr Rule kRules[] = {
    {kGlobal, kGlobal, false, false}, {kGlobal, kLocal, false, true}, {kGlobal, kRelaxed, true, true},
    {kLocal, kGlobal, false, true},   {kLocal, kLocal, false, true},  {kLocal, kRelaxed, true, true},
    {kRelaxed, kGlobal, true, true},  {kRelaxed, kLocal, true, true}, {kRelaxed, kRelaxed, true, true},
};

// Calls in a thread whose mode is `mode`, and puts the mode back.
CUresult call_in_mode(CUstreamCaptureMode mode, const std::function<CUresult()>& call) {
    CUstreamCaptureMode exchanged = mode;
    if (cuThreadExchangeStreamCaptureMode(&exchanged) != CUDA_SUCCESS) return CUDA_ERROR_UNKNOWN;
    const CUresult result = call();
    cuThreadExchangeStreamCaptureMode(&exchanged);
    return exchanged == mode ? result : CUDA_ERROR_UNKNOWN;
}

void check_rule(const Bench& bench, CUstream s, const Rule& rule, bool same_thread,
                const std::function<CUresult()>& call) {
    CU(cuStreamBeginCapture_v2(s, rule.capture));
    CUresult result = CUDA_ERROR_UNKNOWN;
    if (same_thread)
        result = call_in_mode(rule.thread, call);
    else
        elsewhere(bench, [&] { result = call_in_mode(rule.thread, call); });
    const bool may = same_thread ? rule.same_thread_may : rule.other_thread_may;
    INFO("capture mode " << rule.capture << ", thread mode " << rule.thread << ", same thread "
                         << same_thread);
    CHECK(result == (may ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED));
    CHECK(status_of(s) == (may ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_INVALIDATED));
    CUgraph graph = nullptr;
    CU_IS(cuStreamEndCapture(s, &graph), may ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CHECK((graph != nullptr) == may);
}

void check_all_rules(const Bench& bench, const std::function<CUresult()>& call) {
    const CUstream s = bench.stream();
    for (const Rule& rule : kRules)
        for (const bool same_thread : {true, false}) check_rule(bench, s, rule, same_thread, call);
}

}  // namespace

TEST_CASE("allocating is potentially unsafe in all modes but relaxed", "[capture]") {
    const Bench bench;
    check_all_rules(bench, [] {
        CUdeviceptr memory = 0;
        return cuMemAlloc_v2(&memory, 512);
    });
}

TEST_CASE("asking for an event outside of captures is potentially unsafe", "[capture]") {
    const Bench bench;
    const CUevent event = bench.event();
    CU(cuEventRecord(event, bench.stream()));
    CU(cuEventSynchronize(event));
    check_all_rules(bench, [event] { return cuEventQuery(event); });
    check_all_rules(bench, [event] { return cuEventSynchronize(event); });
}

TEST_CASE("waiting for a stream that is not captured is potentially unsafe", "[capture]") {
    const Bench bench;
    const CUstream idle = bench.stream();
    check_all_rules(bench, [idle] { return cuStreamSynchronize(idle); });
    check_all_rules(bench, [idle] { return cuStreamQuery(idle); });
}

TEST_CASE("a synchronous copy or memset is potentially unsafe", "[capture]") {
    const Bench bench;
    const CUdeviceptr memory = bench.memory(512);
    char bytes[512] = {};
    check_all_rules(bench, [&] { return cuMemcpyHtoD_v2(memory, bytes, sizeof bytes); });
    check_all_rules(bench, [&] { return cuMemsetD8_v2(memory, 1, sizeof bytes); });
}

TEST_CASE("calls that change nothing behind a capture's back are safe", "[capture]") {
    const Bench bench;
    const CUstream s = bench.stream(), other = bench.stream();
    CU(cuStreamBeginCapture_v2(s, kGlobal));
    CU(bench.launch("a__10us", other));
    CUevent event = nullptr;
    CU(cuEventCreate(&event, CU_EVENT_DEFAULT));
    CU(cuEventRecord(event, other));
    size_t free_bytes = 0, total_bytes = 0;
    CU(cuMemGetInfo_v2(&free_bytes, &total_bytes));
    CHECK(status_of(s) == CU_STREAM_CAPTURE_STATUS_ACTIVE);
    CUgraph graph = nullptr;
    CU(cuStreamEndCapture(s, &graph));
}

TEST_CASE("an invalidated capture forbids nothing to others any more", "[capture]") {
    const Bench bench;
    const CUstream s = bench.stream();
    CUdeviceptr memory = 0;
    CU(cuStreamBeginCapture_v2(s, kGlobal));
    CU_IS(cuMemAlloc_v2(&memory, 512), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CU(cuMemAlloc_v2(&memory, 512));
}

TEST_CASE("an unsafe call invalidates all captures that it could spoil and no others", "[capture]") {
    const Bench bench;
    const CUstream global = bench.stream(), relaxed = bench.stream(), second = bench.stream();
    CUdeviceptr memory = 0;
    CU(cuStreamBeginCapture_v2(global, kGlobal));
    CU(cuStreamBeginCapture_v2(relaxed, kRelaxed));
    CU(cuStreamBeginCapture_v2(second, kLocal));
    CU_IS(cuMemAlloc_v2(&memory, 512), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CHECK(status_of(global) == CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    CHECK(status_of(relaxed) == CU_STREAM_CAPTURE_STATUS_ACTIVE);
    CHECK(status_of(second) == CU_STREAM_CAPTURE_STATUS_INVALIDATED);
}

}  // namespace capture_rules_test
