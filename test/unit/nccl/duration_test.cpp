// How long each operation takes: parts of 1 MB, 100 GB/s, 5 us. A rank starts when it is ready; all end
// together.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "ranks.h"
#include "truth_lines.h"

namespace duration_test {

namespace {

constexpr size_t kPart = 1'000'000;

void check(const Ranks& ranks, const TruthFile& truth, int64_t wire_ns, int64_t bytes,
           const std::function<ncclResult_t(int, char*, ncclComm_t, cudaStream_t)>& call) {
    const int n = ranks.count();
    std::vector<char*> buffers;
    for (int r = 0; r < n; ++r) buffers.push_back(ranks.put(r, std::vector<char>(8 * kPart)));
    const size_t before = truth.nccl_lines().size();
    ranks.together(
        [&](int r) { return call(r, buffers[static_cast<size_t>(r)], ranks.comm(r), ranks.stream(r)); });
    const std::vector<TruthLine> lines = truth.nccl_lines();
    REQUIRE(lines.size() == before + static_cast<size_t>(n));
    int64_t last_start_ns = 0;
    for (size_t i = before; i < lines.size(); ++i) last_start_ns = std::max(last_start_ns, lines[i].start_ns);
    for (size_t i = before; i < lines.size(); ++i) {
        CHECK(lines[i].end_ns - last_start_ns == 5'000 + wire_ns);
        CHECK(lines[i].bytes == bytes);
    }
}

}  // namespace

TEST_CASE("durations follow the sizes", "[nccl]") {
    const TruthFile truth;
    box::knobs("GPUSIM_DEVICES=4 GPUSIM_CLOCK=stepped GPUSIM_NCCL_GBS=100 GPUSIM_NCCL_LATENCY_US=5" +
               truth.knob());
    const Ranks ranks(4);
    constexpr size_t kAll = 4 * kPart;
    // 2(n-1)/n of 1 MB
    check(ranks, truth, 15'000, kPart, [](int, char* b, ncclComm_t comm, cudaStream_t stream) {
        return ncclAllReduce(b, b, kPart, ncclChar, ncclSum, comm, stream);
    });
    // (n-1)/n of 4 MB
    check(ranks, truth, 30'000, kAll, [](int, char* b, ncclComm_t comm, cudaStream_t stream) {
        return ncclAllGather(b, b + kAll, kPart, ncclChar, comm, stream);
    });
    check(ranks, truth, 30'000, kAll, [](int, char* b, ncclComm_t comm, cudaStream_t stream) {
        return ncclReduceScatter(b, b + kAll, kPart, ncclChar, ncclSum, comm, stream);
    });
    check(ranks, truth, 30'000, kAll, [](int, char* b, ncclComm_t comm, cudaStream_t stream) {
        return ncclAlltoAll(b, b + kAll, kPart, ncclChar, comm, stream);
    });
    check(ranks, truth, 30'000, kAll, [](int, char* b, ncclComm_t comm, cudaStream_t stream) {
        return ncclGather(b, b + kAll, kPart, ncclChar, 0, comm, stream);
    });
    check(ranks, truth, 30'000, kAll, [](int, char* b, ncclComm_t comm, cudaStream_t stream) {
        return ncclScatter(b, b + kAll, kPart, ncclChar, 0, comm, stream);
    });
    // all of 1 MB
    check(ranks, truth, 10'000, kPart, [](int, char* b, ncclComm_t comm, cudaStream_t stream) {
        return ncclBroadcast(b, b, kPart, ncclChar, 2, comm, stream);
    });
    check(ranks, truth, 10'000, kPart, [](int, char* b, ncclComm_t comm, cudaStream_t stream) {
        return ncclReduce(b, b, kPart, ncclChar, ncclMax, 2, comm, stream);
    });
    // two in one kernel: their bytes add up, the latency is paid once
    check(ranks, truth, 30'000, 2 * kPart, [](int, char* b, ncclComm_t comm, cudaStream_t stream) {
        NC(ncclAllReduce(b, b, kPart, ncclChar, ncclSum, comm, stream));
        return ncclAllReduce(b + kPart, b + kPart, kPart, ncclChar, ncclSum, comm, stream);
    });
}

TEST_CASE("messages out and in take the time of one direction", "[nccl]") {
    const TruthFile truth;
    box::knobs("GPUSIM_DEVICES=2 GPUSIM_CLOCK=stepped GPUSIM_NCCL_GBS=100 GPUSIM_NCCL_LATENCY_US=5" +
               truth.knob());
    const Ranks ranks(2);
    check(ranks, truth, 10'000, 2 * kPart, [](int r, char* b, ncclComm_t comm, cudaStream_t stream) {
        NC(ncclSend(b, kPart, ncclChar, 1 - r, comm, stream));
        return ncclRecv(b + kPart, kPart, ncclChar, 1 - r, comm, stream);
    });
}

// rank 0   stream 1   |host function, until let go|A|
//          stream 2                                 |B|     and not at once, although both ranks are there
// rank 1   stream 1                               |A|
//          stream 2                                 |B|
TEST_CASE("a communicator does one thing after the other, whatever the streams", "[nccl]") {
    const TruthFile truth;
    box::knobs("GPUSIM_DEVICES=2" + truth.knob());
    const Ranks ranks(2);
    std::atomic<bool> let_go{false};
    ranks.use(0);
    CU(cuLaunchHostFunc(
        reinterpret_cast<CUstream>(ranks.stream(0)),
        [](void* flag) {
            while (!static_cast<std::atomic<bool>*>(flag)->load()) std::this_thread::yield();
        },
        &let_go));
    CUstream others[2];
    for (int r = 0; r < 2; ++r) {
        char* const b = ranks.put(r, std::vector<char>(2));
        ranks.use(r);
        CU(cuStreamCreate(&others[r], CU_STREAM_NON_BLOCKING));
        auto* const other = reinterpret_cast<cudaStream_t>(others[r]);
        NC(ncclBroadcast(b, b, 1, ncclChar, 0, ranks.comm(r), ranks.stream(r)));
        NC(ncclBroadcast(b, b, 2, ncclChar, 0, ranks.comm(r), other));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const auto before = truth.nccl_lines().size();
    let_go = true;
    for (int r = 0; r < 2; ++r) {
        ranks.use(r);
        CU(cuStreamSynchronize(others[r]));
    }
    ranks.synchronize();
    CHECK(before == 0);
    int64_t end_of_a = 0;
    for (const TruthLine& line : truth.nccl_lines())
        if (line.bytes == 1) end_of_a = line.end_ns;
    for (const TruthLine& line : truth.nccl_lines())
        if (line.bytes == 2) CHECK(line.start_ns >= end_of_a);
    CHECK(truth.nccl_lines().size() == 4);
}

}  // namespace duration_test
