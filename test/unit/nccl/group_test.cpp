// What a group becomes: which kernels, in which order, and that nothing waits for itself.
#include "ranks.h"
#include "truth_lines.h"

namespace group_test {

namespace {

std::vector<std::string> names_on(const TruthFile& truth, int device) {
    std::vector<std::string> names;
    for (const TruthLine& line : truth.nccl_lines())
        if (line.device == device) names.push_back(line.name);
    return names;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("a group is one kernel per communicator and stream", "[nccl]") {
    const TruthFile truth;
    box::knobs("GPUSIM_DEVICES=2 GPUSIM_CLOCK=stepped" + truth.knob());
    {
        const Ranks ranks(2);
        float* const b[] = {ranks.put(0, std::vector<float>(4, 1)), ranks.put(1, std::vector<float>(4, 2))};
        const auto all_reduce = [&](int r, int i, ncclRedOp_t op) {
            return ncclAllReduce(b[r] + i, b[r] + i, 1, ncclFloat, op, ranks.comm(r), ranks.stream(r));
        };
        const auto broadcast = [&](int r) {
            return ncclBroadcast(b[r] + 3, b[r] + 3, 1, ncclFloat, 1, ranks.comm(r), ranks.stream(r));
        };
        ranks.together([&](int r) { return all_reduce(r, 0, ncclSum); });
        ranks.together([&](int r) {
            NC(ncclGroupStart());  // groups nest
            NC(all_reduce(r, 1, ncclSum));
            NC(ncclGroupEnd());
            return all_reduce(r, 2, ncclSum);
        });
        ranks.together([&](int r) {
            NC(all_reduce(r, 0, ncclSum));
            return broadcast(r);
        });
        ranks.together([&](int r) { return all_reduce(r, 1, ncclMax); });
        ranks.together([&](int r) { return broadcast(r); });
        for (int r = 0; r < 2; ++r) CHECK(ranks.get(r, b[r], 4) == std::vector<float>{6, 3, 3, 2});
    }
    const Names expected = {"ncclDevKernel_AllReduce_Sum_f32_RING_LL",
                            "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "ncclDevKernel_Generic",
                            "ncclDevKernel_Generic", "ncclDevKernel_Broadcast_RING_LL"};
    CHECK(names_on(truth, 0) == expected);
    CHECK(names_on(truth, 1) == expected);
}

TEST_CASE("sends and receives of a group wait for nobody in particular", "[nccl]") {
    const TruthFile truth;
    box::knobs("GPUSIM_DEVICES=3 GPUSIM_CLOCK=stepped" + truth.knob());
    {
        const Ranks ranks(3);
        std::vector<int*> in, out;
        for (int r = 0; r < 3; ++r) {
            in.push_back(ranks.put(r, std::vector<int>{10 * r, 10 * r + 1, 10 * r + 2}));
            out.push_back(ranks.put(r, std::vector<int>(3, -1)));
        }
        ranks.together([&](int r) {
            const auto me = static_cast<size_t>(r);
            const auto send_to = [&](int peer) {
                return ncclSend(in[me] + peer, 1, ncclInt, peer, ranks.comm(r), ranks.stream(r));
            };
            const auto receive_from = [&](int peer) {
                return ncclRecv(out[me] + peer, 1, ncclInt, peer, ranks.comm(r), ranks.stream(r));
            };
            for (int step = 0; step < 3; ++step) {
                const int peer = r == 1 ? 2 - step : step;  // also to itself
                NC(r == 2 ? send_to(peer) : receive_from(peer));
                NC(r == 2 ? receive_from(peer) : send_to(peer));
            }
            return ncclSuccess;
        });
        for (int r = 0; r < 3; ++r)
            CHECK(ranks.get(r, out[static_cast<size_t>(r)], 3) == std::vector<int>{r, 10 + r, 20 + r});
    }
    for (int r = 0; r < 3; ++r) CHECK(names_on(truth, r) == Names{"ncclDevKernel_SendRecv"});
}

TEST_CASE("a message is matched with the message, not with the group", "[nccl]") {
    box::knobs("GPUSIM_DEVICES=2");
    const Ranks ranks(2);
    int* const from = ranks.put(0, std::vector<int>{1, 2, 3});
    int* const to = ranks.put(1, std::vector<int>(3, -1));
    NC(ncclGroupStart());
    for (int i = 0; i < 3; ++i) NC(ncclSend(from + i, 1, ncclInt, 1, ranks.comm(0), ranks.stream(0)));
    NC(ncclGroupEnd());
    for (int i = 0; i < 3; ++i) NC(ncclRecv(to + i, 1, ncclInt, 0, ranks.comm(1), ranks.stream(1)));
    ranks.synchronize();
    CHECK(ranks.get(1, to, 3) == std::vector<int>{1, 2, 3});
}

TEST_CASE("a group may be larger than a kernel", "[nccl]") {
    box::knobs("GPUSIM_DEVICES=2");
    const Ranks ranks(2);
    constexpr size_t kMany = 300;
    int* const b[] = {ranks.put(0, std::vector<int>(kMany, 1)), ranks.put(1, std::vector<int>(kMany, 2))};
    for (int round = 0; round < 3; ++round) {
        ranks.together([&](int r) {
            for (size_t i = 0; i < kMany; ++i)
                NC(ncclAllReduce(b[r] + i, b[r] + i, 1, ncclInt, ncclSum, ranks.comm(r), ranks.stream(r)));
            return ncclSuccess;
        });
    }
    for (int r = 0; r < 2; ++r) CHECK(ranks.get(r, b[r], kMany) == std::vector<int>(kMany, 12));
    NC(ncclGroupStart());
    for (int i = 0; i < 65; ++i) NC(ncclSend(b[0], 1, ncclInt, 1, ranks.comm(0), ranks.stream(0)));
    NC_IS(ncclGroupEnd(), ncclInvalidUsage);
}

TEST_CASE("a simulated group only tells how long it would take", "[nccl]") {
    box::knobs("GPUSIM_DEVICES=2 GPUSIM_NCCL_GBS=100 GPUSIM_NCCL_LATENCY_US=20");
    const Ranks ranks(2);
    int* const b = ranks.put(0, std::vector<int>(1000, 1));
    NC(ncclGroupStart());
    NC(ncclAllReduce(b, b, 1000, ncclInt, ncclSum, ranks.comm(0), ranks.stream(0)));
    ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
    NC(ncclGroupSimulateEnd(&info));
    CHECK(info.estimatedTime == Approx(20.04));
    ranks.synchronize();  // and nothing was launched
    CHECK(ranks.get(0, b, 1)[0] == 1);
}

}  // namespace group_test
