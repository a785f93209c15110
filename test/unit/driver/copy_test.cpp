// When copies return to the host, how long they take, and what the truth says of them.
#include "copy_forms.h"

namespace copy_test {

namespace {

constexpr size_t kSmall = 64 << 10, kLarge = (64 << 10) + 1;
constexpr int64_t kKernelEnds = 105'000;  // launched at 0, starts after 5 us of latency, lasts 100 us

enum class HostKind { pageable, pinned };
enum class Returns { at_once, after_the_past, over };

// The rules once more, in the words of the documentation.
Returns rule(const CopyCall& form, Where from, Where to, HostKind kind, size_t bytes) {
    const bool pageable = kind == HostKind::pageable;
    const bool small = bytes <= kSmall;
    if (from == Where::host && to == Where::host) return Returns::over;
    if (from != Where::host && to != Where::host) return Returns::at_once;
    if (to == Where::host) return form.asynchronous && !pageable ? Returns::at_once : Returns::over;
    if (!form.asynchronous) return pageable && small ? Returns::after_the_past : Returns::over;
    return pageable && !small ? Returns::over : Returns::at_once;
}

End make_end(Where where, HostKind kind, size_t bytes) {
    End end;
    switch (where) {
        case Where::array:
            end.array = array_memory(bytes + kArrayOffset);
            return end;
        case Where::low:
            end.address = low_memory(bytes);
            return end;
        case Where::host:
            end.address = kind == HostKind::pageable ? pageable_memory(bytes) : pinned_memory(bytes);
            return end;
        default:
            end.address = device_memory(bytes);
            return end;
    }
}

void check_rule(Timeline& timeline, CUfunction busy, const CopyCall& form, Where from, Where to,
                HostKind kind, size_t bytes) {
    INFO(form.name << " from " << int(from) << " to " << int(to) << ", pinned " << int(kind) << ", "
                   << bytes);
    const bool per_thread = std::string(form.name).find("_ptds") != std::string::npos;
    const CUstream stream = form.asynchronous ? make_stream()
                            : per_thread      ? CU_STREAM_PER_THREAD
                                              : CU_STREAM_LEGACY;
    const End source = make_end(from, kind, bytes), target = make_end(to, kind, bytes);
    CU(cuCtxSynchronize());
    timeline.start();
    CU(launch(busy, stream));
    const int64_t entered = timeline.now();
    CU(form.call(target, source, bytes, stream));
    const int64_t returned = timeline.now();
    CU(cuStreamSynchronize(stream));
    const Truth copy = timeline.all().back();
    REQUIRE(copy.start_ns == kKernelEnds);
    REQUIRE(copy.bytes == static_cast<int64_t>(bytes));
    switch (rule(form, from, to, kind, bytes)) {
        case Returns::at_once:
            CHECK(returned == entered + 1000);
            break;
        case Returns::after_the_past:
            CHECK((returned >= kKernelEnds && returned < copy.end_ns));
            break;
        case Returns::over:
            CHECK(returned == copy.end_ns);
            break;
    }
    if (source.array == nullptr && from != Where::host) cuMemFree_v2(source.address);
    if (target.array == nullptr && to != Where::host) cuMemFree_v2(target.address);
}

}  // namespace

TEST_CASE("each form of copy returns when the documentation says", "[copy]") {
    Timeline timeline;
    make_context();
    const CUfunction busy = kernel("busy__100us");
    for (const CopyCall& form : copy_calls()) {
        std::vector<std::pair<Where, Where>> ways = {{form.from, form.to}};
        if (form.from == Where::any)
            ways = {{Where::host, Where::host},
                    {Where::host, Where::device},
                    {Where::device, Where::host},
                    {Where::device, Where::device}};
        for (const auto& [from, to] : ways)
            for (const HostKind kind : {HostKind::pageable, HostKind::pinned})
                for (const size_t bytes : {kSmall, kLarge})
                    check_rule(timeline, busy, form, from, to, kind, bytes);
    }
}

// The stream waits for a word, so the copy is still to come when its source is changed.
TEST_CASE("a small pageable source may be changed as soon as the call returns", "[copy]") {
    make_context();
    const CUdeviceptr device = device_memory(1000), go = pinned_memory(4);
    put_at(go, Bytes(4, 0));
    Bytes source = pattern(1000, 3);
    CUstream stream = make_stream();
    CU(cuStreamWaitValue32_v2(stream, go, 1, CU_STREAM_WAIT_VALUE_EQ));
    CU(cuMemcpyHtoDAsync_v2(device, source.data(), source.size(), stream));
    source.assign(1000, 0);
    CU_IS(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    __atomic_store_n(reinterpret_cast<unsigned*>(go), 1, __ATOMIC_RELEASE);
    CU(cuStreamSynchronize(stream));
    CHECK(bytes_at(device, 1000) == pattern(1000, 3));
}

TEST_CASE("a registered range is pinned, and pageable again afterwards", "[copy]") {
    Timeline timeline;
    make_context();
    const CUdeviceptr device = device_memory(1 << 20), host = pageable_memory(1 << 20);
    CUstream stream = make_stream();
    const auto cost = [&] {
        timeline.start();
        CU(cuMemcpyHtoDAsync_v2(device, reinterpret_cast<void*>(host), 1 << 20, stream));
        const int64_t spent = timeline.now();
        CU(cuStreamSynchronize(stream));
        return spent;
    };
    CHECK(cost() > 1000);
    CU(cuMemHostRegister_v2(reinterpret_cast<void*>(host), 1 << 20, 0));
    CHECK(cost() == 1000);
    CU(cuMemHostUnregister(reinterpret_cast<void*>(host)));
    CHECK(cost() > 1000);
}

// Bytes divided by the rate of the way they go: 1 GB/s is 1 byte in a nanosecond.
TEST_CASE("a copy lasts as long as its bytes take at the rate of its way", "[copy]") {
    Timeline timeline(
        "GPUSIM_DEVICES=2 GPUSIM_H2D_GBS=20 GPUSIM_D2H_GBS=10 GPUSIM_PAGEABLE_GBS=5 GPUSIM_D2D_GBS=1000 "
        "GPUSIM_P2P_GBS=100");
    constexpr size_t kBytes = 1'000'000;
    CUcontext other = make_context(1);
    const CUdeviceptr far = device_memory(kBytes);
    CUcontext context = make_context(0);
    const CUdeviceptr a = device_memory(kBytes), b = device_memory(kBytes);
    const CUdeviceptr pinned = pinned_memory(kBytes), pageable = pageable_memory(kBytes);
    struct Case {
        CUdeviceptr to, from;
        const char* word;
        int64_t lasts_ns;
    };
    for (const Case& c :
         {Case{a, pinned, "h2d", 50'000}, Case{pinned, a, "d2h", 100'000}, Case{a, pageable, "h2d", 200'000},
          Case{pageable, a, "d2h", 200'000}, Case{b, a, "d2d", 1'000}, Case{far, a, "p2p", 10'000},
          Case{a, far, "p2p", 10'000}, Case{pageable, pinned, "h2h", 200'000}}) {
        CU(cuMemcpy(c.to, c.from, kBytes));
        CU(cuCtxSynchronize());
        const Truth copy = timeline.all().back();
        CHECK(copy.op == c.word);
        CHECK(copy.end_ns - copy.start_ns == c.lasts_ns);
        CHECK(copy.bytes == static_cast<int64_t>(kBytes));
    }
    CU(cuMemcpyPeer(far, other, a, context, kBytes));
    CU(cuCtxSynchronize());
    CHECK(timeline.all().back().op == "p2p");
}

TEST_CASE("synchronous forms wait where an allocation or its context asks for it", "[copy]") {
    Timeline timeline;
    make_context();
    const CUdeviceptr a = device_memory(1 << 20), b = device_memory(1 << 20);
    const auto cost = [&] {
        timeline.start();
        CU(launch(kernel("busy__100us")));
        CU(cuMemcpyDtoD_v2(a, b, 1 << 20));
        const int64_t spent = timeline.now();
        CU(cuCtxSynchronize());
        return spent;
    };
    CHECK(cost() < kKernelEnds);
    const unsigned on = 1;
    CU(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, a));
    CHECK(cost() > kKernelEnds);
}

TEST_CASE("memory that is freed before a copy of a graph runs is an asynchronous error", "[copy]") {
    make_context();
    const CUdeviceptr a = device_memory(64), b = device_memory(64);
    CUstream stream = make_stream();
    CU(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    CU(cuMemcpyAsync(a, b, 64, stream));
    CUgraph graph = nullptr;
    CUgraphExec ready = nullptr;
    CU(cuStreamEndCapture(stream, &graph));
    CU(cuGraphInstantiateWithFlags(&ready, graph, 0));
    CU(cuMemFree_v2(b));
    CU(cuGraphLaunch(ready, stream));
    CU_IS(cuStreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
}

}  // namespace copy_test
