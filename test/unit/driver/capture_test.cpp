#include "graph_bench.h"

namespace capture_test {

namespace {

constexpr auto kGlobal = CU_STREAM_CAPTURE_MODE_GLOBAL;
constexpr auto kRelaxed = CU_STREAM_CAPTURE_MODE_RELAXED;

CUgraph end_of(CUstream stream) {
    CUgraph graph = nullptr;
    CU(cuStreamEndCapture(stream, &graph));
    REQUIRE(graph != nullptr);
    return graph;
}

CUresult failed_end(CUstream stream) {
    auto graph = reinterpret_cast<CUgraph>(&stream);
    const CUresult result = cuStreamEndCapture(stream, &graph);
    CHECK(graph == nullptr);
    CHECK(status_of(stream) == CU_STREAM_CAPTURE_STATUS_NONE);
    return result;
}

}  // namespace

TEST_CASE("a captured stream records instead of executing", "[capture]") {
    const Bench bench;
    const CUstream s = bench.stream();
    CU(cuStreamBeginCapture_v2(s, kGlobal));
    CHECK(status_of(s) == CU_STREAM_CAPTURE_STATUS_ACTIVE);
    CU(bench.launch("a__10us", s));
    CU(bench.launch("b__20us", s));
    const CUgraph graph = end_of(s);
    CHECK(status_of(s) == CU_STREAM_CAPTURE_STATUS_NONE);
    CHECK(bench.ran().empty());
    CHECK(edges_of(graph) == "0>1");

    CU(cuGraphLaunch(executable(graph), s));
    CHECK(bench.order() == "a__10us b__20us");
}

// origin  a---------- . . . . . . c-----
// other             b--------------------  (10 … 30 us), both after a; d after both
TEST_CASE("a second stream joins by an event, works beside the first, and comes back", "[capture]") {
    const Bench bench;
    const CUstream origin = bench.stream(), other = bench.stream();
    const CUevent fork = bench.event(), back = bench.event();
    CU(cuStreamBeginCapture_v2(origin, kGlobal));
    CU(bench.launch("a__10us", origin));
    CU(cuEventRecord(fork, origin));
    CU(cuStreamWaitEvent(other, fork, 0));
    CHECK(status_of(other) == CU_STREAM_CAPTURE_STATUS_ACTIVE);
    CU(bench.launch("b__20us", other));
    CU(bench.launch("c__5us", origin));
    CU(cuEventRecord(back, other));
    CU(cuStreamWaitEvent(origin, back, 0));
    CU(bench.launch("d__1us", origin));
    const CUgraph graph = end_of(origin);
    CHECK(status_of(other) == CU_STREAM_CAPTURE_STATUS_NONE);
    CHECK(edges_of(graph) == "0>1 0>2 2>3 1>3");

    CU(cuGraphLaunch(executable(graph), origin));
    const auto ran = bench.ran();
    REQUIRE(ran.size() == 4);
    const int64_t t = ran[0].enter_ns + 1000;
    CHECK(ran[0].start_ns == t);
    for (size_t i = 1; i < 3; ++i) {
        CHECK(ran[i].start_ns == t + 10'000);
        CHECK(ran[i].end_ns == t + 10'000 + (ran[i].name == "b__20us" ? 20'000 : 5'000));
    }
    CHECK(ran[3].start_ns == t + 30'000);
}

TEST_CASE("what forked off must come back", "[capture]") {
    const Bench bench;
    const CUstream origin = bench.stream(), other = bench.stream();
    const CUevent fork = bench.event();
    CU(cuStreamBeginCapture_v2(origin, kGlobal));
    CU(cuEventRecord(fork, origin));
    CU(cuStreamWaitEvent(other, fork, 0));
    CU(bench.launch("a__10us", other));
    CU_IS(failed_end(origin), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    CHECK(status_of(other) == CU_STREAM_CAPTURE_STATUS_NONE);
    CU(bench.launch("b__20us", other));
    CHECK(bench.order() == "b__20us");
}

TEST_CASE("a stream that only listened need not come back", "[capture]") {
    const Bench bench;
    const CUstream origin = bench.stream(), other = bench.stream();
    const CUevent fork = bench.event();
    CU(cuStreamBeginCapture_v2(origin, kGlobal));
    CU(bench.launch("a__10us", origin));
    CU(cuEventRecord(fork, origin));
    CU(cuStreamWaitEvent(other, fork, 0));
    CHECK(nodes_of(end_of(origin)).size() == 1);
}

TEST_CASE("captures begin and end where and as they may", "[capture]") {
    const Bench bench;
    const CUstream s = bench.stream(), other = bench.stream();
    CUgraph graph = nullptr;
    CU_IS(cuStreamBeginCapture_v2(nullptr, kGlobal), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CU_IS(cuStreamBeginCapture_v2(CU_STREAM_LEGACY, kRelaxed), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CU_IS(cuStreamBeginCapture_v2(s, static_cast<CUstreamCaptureMode>(3)), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuStreamEndCapture(s, &graph), CUDA_ERROR_ILLEGAL_STATE);
    CU_IS(cuStreamUpdateCaptureDependencies(s, nullptr, 0, 0), CUDA_ERROR_ILLEGAL_STATE);
    CU(cuStreamBeginCapture(s));
    CU_IS(cuStreamBeginCapture_v2(s, kGlobal), CUDA_ERROR_ILLEGAL_STATE);
    CU_IS(cuStreamEndCapture(s, nullptr), CUDA_ERROR_INVALID_VALUE);
    const CUevent fork = bench.event();
    CU(cuEventRecord(fork, s));
    CU(cuStreamWaitEvent(other, fork, 0));
    CU_IS(cuStreamEndCapture(other, &graph), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    CHECK(nodes_of(end_of(s)).empty());
    CU_IS(cuStreamIsCapturing(s, nullptr), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuThreadExchangeStreamCaptureMode(nullptr), CUDA_ERROR_INVALID_VALUE);

    CU(cuStreamBeginCapture_v2(CU_STREAM_PER_THREAD, kRelaxed));
    CU(bench.launch("a__10us", CU_STREAM_PER_THREAD));
    CHECK(nodes_of(end_of(CU_STREAM_PER_THREAD)).size() == 1);
}

TEST_CASE("only a relaxed capture ends on another thread", "[capture]") {
    const Bench bench;
    const CUstream s = bench.stream();
    for (const auto mode : {kGlobal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, kRelaxed}) {
        CU(cuStreamBeginCapture_v2(s, mode));
        CUgraph graph = nullptr;
        CUresult result = CUDA_SUCCESS;
        elsewhere(bench, [&] { result = cuStreamEndCapture(s, &graph); });
        CHECK(result == (mode == kRelaxed ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD));
        CHECK((graph != nullptr) == (mode == kRelaxed));
        if (mode != kRelaxed) CHECK(end_of(s) != nullptr);
    }
}

TEST_CASE("waiting for a captured stream invalidates the capture, until its end", "[capture]") {
    const Bench bench;
    const CUstream s = bench.stream();
    for (const auto& wait : {cuStreamSynchronize, cuStreamQuery}) {
        CU(cuStreamBeginCapture_v2(s, kRelaxed));
        CU_IS(wait(s), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        CHECK(status_of(s) == CU_STREAM_CAPTURE_STATUS_INVALIDATED);
        CU_IS(bench.launch("a__10us", s), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        CU_IS(failed_end(s), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    }
    CU(cuStreamBeginCapture_v2(s, kRelaxed));
    CU_IS(cuCtxSynchronize(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CU_IS(failed_end(s), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CU(bench.launch("a__10us", s));
    CHECK(bench.order() == "a__10us");
}

TEST_CASE("the host cannot ask for an event that a capture recorded last", "[capture]") {
    const Bench bench;
    const CUstream s = bench.stream();
    const CUevent event = bench.event();
    for (const auto& ask : {cuEventQuery, cuEventSynchronize}) {
        CU(cuStreamBeginCapture_v2(s, kGlobal));
        CU(cuEventRecord(event, s));
        CU_IS(ask(event), CUDA_ERROR_CAPTURED_EVENT);
        CU_IS(failed_end(s), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        CU_IS(ask(event), CUDA_ERROR_CAPTURED_EVENT);
        CU_IS(cuStreamWaitEvent(s, event, 0), CUDA_ERROR_CAPTURED_EVENT);
        CU(cuEventRecord(event, s));
        CU(cuEventSynchronize(event));
    }
}

TEST_CASE("a capture depends on nothing outside it", "[capture]") {
    const Bench bench;
    const CUstream s = bench.stream(), outside = bench.stream();
    const CUevent event = bench.event(), never = bench.event();
    CU(cuEventRecord(event, outside));
    CU(cuStreamBeginCapture_v2(s, kGlobal));
    CU(cuStreamWaitEvent(s, never, 0));
    CU_IS(cuStreamWaitEvent(s, event, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    CU_IS(failed_end(s), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_CASE("two captures do not merge", "[capture]") {
    const Bench bench;
    const CUstream one = bench.stream(), two = bench.stream();
    const CUevent event = bench.event();
    CU(cuStreamBeginCapture_v2(one, kGlobal));
    CU(cuStreamBeginCapture_v2(two, kGlobal));
    CU(cuEventRecord(event, one));
    CU_IS(cuStreamWaitEvent(two, event, 0), CUDA_ERROR_STREAM_CAPTURE_MERGE);
    CU_IS(failed_end(two), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CU_IS(failed_end(one), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_CASE("while a blocking stream is captured the legacy stream is unusable", "[capture]") {
    const Bench bench;
    const CUstream s = bench.stream(CU_STREAM_DEFAULT);
    CUstreamCaptureStatus status{};
    CU(cuStreamBeginCapture_v2(s, kRelaxed));
    CU_IS(cuStreamIsCapturing(nullptr, &status), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    CHECK(status_of(s) == CU_STREAM_CAPTURE_STATUS_ACTIVE);
    CU_IS(bench.launch("a__10us", nullptr), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    CU_IS(failed_end(s), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CU(cuStreamBeginCapture_v2(s, kRelaxed));
    CU_IS(cuStreamSynchronize(nullptr), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    CU_IS(failed_end(s), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CHECK(bench.ran().empty());
}

TEST_CASE("a non-blocking stream's capture does not mind the legacy stream", "[capture]") {
    const Bench bench;
    const CUstream s = bench.stream();
    CU(cuStreamBeginCapture_v2(s, kRelaxed));
    CHECK(status_of(nullptr) == CU_STREAM_CAPTURE_STATUS_NONE);
    CU(bench.launch("a__10us", nullptr));
    CU(cuStreamSynchronize(nullptr));
    end_of(s);
    CHECK(bench.order() == "a__10us");
}

TEST_CASE("callbacks that are told a status cannot be captured, host functions can", "[capture]") {
    const Bench bench;
    const CUstream s = bench.stream();
    CU(cuStreamBeginCapture_v2(s, kGlobal));
    CU(cuLaunchHostFunc(
        s, [](void*) {}, nullptr));
    CU_IS(cuStreamAddCallback(
              s, [](CUstream, CUresult, void*) {}, nullptr, 0),
          CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CU_IS(failed_end(s), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_CASE("a stream destroyed while captured takes the capture with it", "[capture]") {
    const Bench bench;
    const CUstream origin = bench.stream(), other = bench.stream(), third = bench.stream();
    const CUevent fork = bench.event();
    CU(cuStreamBeginCapture_v2(origin, kGlobal));
    CU(cuEventRecord(fork, origin));
    CU(cuStreamWaitEvent(other, fork, 0));
    CU(cuStreamWaitEvent(third, fork, 0));
    CU(cuStreamDestroy_v2(third));
    CHECK(status_of(origin) == CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    CU(cuStreamDestroy_v2(origin));
    CHECK(status_of(other) == CU_STREAM_CAPTURE_STATUS_NONE);
    CU(cuCtxSynchronize());
}

TEST_CASE("events marked external are nodes of the graph", "[capture]") {
    const Bench bench;
    const CUstream s = bench.stream(), outside = bench.stream();
    const CUevent recorded = bench.event(CU_EVENT_DEFAULT), awaited = bench.event();
    CU(cuStreamBeginCapture_v2(s, kGlobal));
    CU(cuStreamWaitEvent(s, awaited, CU_EVENT_WAIT_EXTERNAL));
    CU(bench.launch("a__10us", s));
    CU(cuEventRecordWithFlags(recorded, s, CU_EVENT_RECORD_EXTERNAL));
    const CUgraph graph = end_of(s);
    CUgraphNodeType type{};
    CU(cuGraphNodeGetType(nodes_of(graph)[0], &type));
    CHECK(type == CU_GRAPH_NODE_TYPE_WAIT_EVENT);
    CU(cuGraphNodeGetType(nodes_of(graph)[2], &type));
    CHECK(type == CU_GRAPH_NODE_TYPE_EVENT_RECORD);

    CU(bench.launch("b__20us", outside));
    CU(cuEventRecord(awaited, outside));
    CU(cuGraphLaunch(executable(graph), s));
    CU(cuEventSynchronize(recorded));
    const auto ran = bench.ran();
    REQUIRE(ran.size() == 4);
    CHECK(ran[2].name == "a__10us");
    CHECK(ran[2].start_ns == ran[1].end_ns);
    CHECK(ran[3].op == "event");
    CHECK(ran[3].end_ns == ran[2].end_ns + 100);
}

}  // namespace capture_test
