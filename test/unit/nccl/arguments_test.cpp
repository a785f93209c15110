// What is wrong with a call is said by the call, in the words of nccl.h.
#include "ranks.h"

namespace arguments_test {

TEST_CASE("wrong arguments of collectives are refused", "[nccl]") {
    box::knobs("GPUSIM_DEVICES=2");
    const Ranks ranks(2);
    ncclComm_t const comm = ranks.comm(0);
    cudaStream_t const stream = ranks.stream(0);
    int* const b = ranks.put(0, std::vector<int>(8, 1));
    int no_comm = 0;

    NC_IS(ncclAllReduce(b, b, 1, ncclInt, ncclSum, nullptr, stream), ncclInvalidArgument);
    NC_IS(ncclAllReduce(b, b, 1, ncclInt, ncclSum, reinterpret_cast<ncclComm_t>(&no_comm), stream),
          ncclInvalidArgument);
    NC_IS(ncclAllReduce(nullptr, b, 1, ncclInt, ncclSum, comm, stream), ncclInvalidArgument);
    NC_IS(ncclAllReduce(b, nullptr, 1, ncclInt, ncclSum, comm, stream), ncclInvalidArgument);
    NC_IS(ncclAllReduce(b, b, 1, ncclNumTypes, ncclSum, comm, stream), ncclInvalidArgument);
    NC_IS(ncclAllReduce(b, b, 1, ncclInt, ncclNumOps, comm, stream), ncclInvalidArgument);
    NC_IS(ncclAllReduce(b, b, ~size_t{0}, ncclInt, ncclSum, comm, stream), ncclInvalidArgument);
    NC_IS(ncclReduce(b, b, 1, ncclInt, ncclSum, 2, comm, stream), ncclInvalidArgument);
    NC_IS(ncclReduce(b, nullptr, 1, ncclInt, ncclSum, 0, comm, stream), ncclInvalidArgument);
    NC_IS(ncclBroadcast(b, b, 1, ncclInt, -1, comm, stream), ncclInvalidArgument);
    NC_IS(ncclBroadcast(nullptr, b, 1, ncclInt, 0, comm, stream), ncclInvalidArgument);
    NC_IS(ncclSend(b, 1, ncclInt, 2, comm, stream), ncclInvalidArgument);
    NC_IS(ncclRecv(nullptr, 1, ncclInt, 1, comm, stream), ncclInvalidArgument);
    CHECK(ncclGetLastError(comm) == std::string("the receive buffer is null"));

    // Nothing of it has begun, and nothing of nothing waits for nobody.
    NC(ncclAllReduce(b, b, 0, ncclInt, ncclSum, comm, stream));
    ranks.synchronize();
    ncclResult_t state = ncclInternalError;
    NC(ncclCommGetAsyncError(comm, &state));
    CHECK(state == ncclSuccess);
}

TEST_CASE("a wrong call spoils its group, and its group alone", "[nccl]") {
    box::knobs("GPUSIM_DEVICES=2");
    const Ranks ranks(2);
    int* const b[] = {ranks.put(0, std::vector<int>{1}), ranks.put(1, std::vector<int>{2})};
    const auto all_reduce = [&](int r, size_t count) {
        return ncclAllReduce(b[r], b[r], count, ncclInt, ncclSum, ranks.comm(r), ranks.stream(r));
    };
    NC(ncclGroupStart());
    NC(all_reduce(0, 1));
    NC_IS(ncclAllReduce(b[1], b[1], 1, ncclInt, ncclSum, nullptr, ranks.stream(1)), ncclInvalidArgument);
    NC_IS(ncclGroupEnd(), ncclInvalidArgument);
    ranks.synchronize();
    CHECK(ranks.get(0, b[0], 1)[0] == 1);
    ranks.together([&](int r) { return all_reduce(r, 1); });
    CHECK(ranks.get(0, b[0], 1)[0] == 3);
    NC_IS(ncclGroupEnd(), ncclInvalidUsage);
}

TEST_CASE("wrong arguments of communicators are refused", "[nccl]") {
    box::knobs("GPUSIM_DEVICES=2");
    const Ranks ranks(2);
    ncclUniqueId id;
    ncclComm_t comm = nullptr;
    int number = 0;
    NC(ncclGetUniqueId(&id));
    NC_IS(ncclGetUniqueId(nullptr), ncclInvalidArgument);
    NC_IS(ncclCommInitRank(nullptr, 1, id, 0), ncclInvalidArgument);
    NC_IS(ncclCommInitRank(&comm, 0, id, 0), ncclInvalidArgument);
    NC_IS(ncclCommInitRank(&comm, 1, id, 1), ncclInvalidArgument);
    NC_IS(ncclCommInitRank(&comm, 65, id, 0), ncclInvalidUsage);
    NC_IS(ncclCommInitRank(&comm, 1, ncclUniqueId{}, 0), ncclInvalidArgument);
    ncclConfig_t config{};
    NC_IS(ncclCommInitRankConfig(&comm, 1, id, 0, &config), ncclInvalidArgument);
    config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 2;
    NC_IS(ncclCommInitRankConfig(&comm, 1, id, 0, &config), ncclInvalidArgument);
    CHECK(comm == nullptr);
    const int twice[] = {1, 1}, far[] = {0, 2};
    ncclComm_t two[2];
    NC_IS(ncclCommInitAll(two, 2, twice), ncclInvalidUsage);
    NC_IS(ncclCommInitAll(two, 2, far), ncclUnhandledCudaError);
    NC_IS(ncclCommSplit(ranks.comm(0), -2, 0, &comm, nullptr), ncclInvalidArgument);
    int self = 0;
    NC_IS(ncclCommShrink(ranks.comm(0), &self, 1, &comm, nullptr, 0), ncclInvalidArgument);
    NC_IS(ncclCommCount(nullptr, &number), ncclInvalidArgument);
    NC_IS(ncclCommCount(ranks.comm(0), nullptr), ncclInvalidArgument);
    NC_IS(ncclCommRevoke(ranks.comm(0), 1), ncclInvalidArgument);
}

TEST_CASE("a communicator knows its rank, size and device; a destroyed one nothing", "[nccl]") {
    box::knobs("GPUSIM_DEVICES=3");
    CU(cuInit(0));
    const int devices[] = {2, 0};
    ncclComm_t comms[2];
    NC(ncclCommInitAll(comms, 2, devices));
    for (int r = 0; r < 2; ++r) {
        int rank = -1, count = -1, device = -1;
        NC(ncclCommUserRank(comms[r], &rank));
        NC(ncclCommCount(comms[r], &count));
        NC(ncclCommCuDevice(comms[r], &device));
        CHECK(rank == r);
        CHECK(count == 2);
        CHECK(device == devices[r]);
    }
    NC(ncclCommDestroy(comms[0]));
    NC(ncclCommDestroy(comms[1]));
    int rank = 0;
    NC_IS(ncclCommUserRank(comms[0], &rank), ncclInvalidArgument);
    NC_IS(ncclCommDestroy(comms[0]), ncclInvalidArgument);
    NC(ncclCommDestroy(nullptr));
}

TEST_CASE("memory, registrations and windows", "[nccl]") {
    box::knobs("GPUSIM_DEVICES=1");
    const Ranks ranks(1);
    void *buffer = nullptr, *handle = nullptr;
    ncclWindow_t window = nullptr;
    NC(ncclMemAlloc(&buffer, 100));
    NC(ncclCommRegister(ranks.comm(0), buffer, 100, &handle));
    CHECK(handle != nullptr);
    NC(ncclCommDeregister(ranks.comm(0), handle));
    NC_IS(ncclCommDeregister(ranks.comm(0), handle), ncclInvalidArgument);
    auto* const begin = reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(buffer) + 4095) / 4096 * 4096);
    NC(ncclCommWindowRegister(ranks.comm(0), begin, 8, &window, NCCL_WIN_COLL_SYMMETRIC));
    NC_IS(ncclCommWindowRegister(ranks.comm(0), begin + 8, 8, &window, NCCL_WIN_DEFAULT),
          ncclInvalidArgument);
    NC(ncclCommWindowDeregister(ranks.comm(0), window));
    NC(ncclMemFree(buffer));
    NC_IS(ncclMemFree(buffer), ncclUnhandledCudaError);
}

}  // namespace arguments_test
