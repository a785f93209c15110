// The lives of communicators within one process.
#include <filesystem>
#include <fstream>
#include <thread>

#include "ranks.h"

namespace communicator_test {

namespace {

ncclResult_t state_of(ncclComm_t comm) {
    ncclResult_t state = ncclNumResults;
    NC(ncclCommGetAsyncError(comm, &state));
    return state;
}

// Open files and mappings of the rooms and stages in which ranks meet.
size_t shared_things() {
    size_t count = 0;
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) count += line.find("gpusim-nccl") != std::string::npos;
    for (const auto& file : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code gone;
        count += std::filesystem::read_symlink(file, gone).string().find("gpusim-nccl") != std::string::npos;
    }
    return count;
}

std::vector<int> all_reduced(const Ranks& ranks, const std::vector<ncclComm_t>& comms) {
    std::vector<int*> buffers;
    for (int r = 0; r < ranks.count(); ++r) buffers.push_back(ranks.put(r, std::vector<int>{1 << r}));
    ranks.together([&](int r) {
        const auto i = static_cast<size_t>(r);
        if (comms[i] == nullptr) return ncclSuccess;
        return ncclAllReduce(buffers[i], buffers[i], 1, ncclInt, ncclSum, comms[i], ranks.stream(r));
    });
    std::vector<int> values;
    for (int r = 0; r < ranks.count(); ++r)
        values.push_back(ranks.get(r, buffers[static_cast<size_t>(r)], 1)[0]);
    return values;
}

// What each rank but that one has of a communicator without it.
std::vector<ncclComm_t> shrunk(const Ranks& ranks, int excluded) {
    std::vector<ncclComm_t> parts(static_cast<size_t>(ranks.count()), nullptr);
    ranks.together([&](int r) {
        if (r == excluded) return ncclSuccess;
        return ncclCommShrink(ranks.comm(r), &excluded, 1, &parts[static_cast<size_t>(r)], nullptr,
                              NCCL_SHRINK_DEFAULT);
    });
    return parts;
}

void destroy(const std::vector<ncclComm_t>& comms) {
    for (ncclComm_t comm : comms) NC(ncclCommDestroy(comm));
}

}  // namespace

TEST_CASE("split within one process, in a group", "[nccl]") {
    box::knobs("GPUSIM_DEVICES=5");
    const Ranks ranks(5);
    for (int again = 0; again < 3; ++again) {
        std::vector<ncclComm_t> parts(5, nullptr);
        ranks.together([&](int r) {
            const int color = r == 4 ? NCCL_SPLIT_NOCOLOR : r % 2;
            return ncclCommSplit(ranks.comm(r), color, -r, &parts[static_cast<size_t>(r)], nullptr);
        });
        CHECK(parts[4] == nullptr);
        int rank = -1;
        NC(ncclCommUserRank(parts[0], &rank));
        CHECK(rank == 1);
        CHECK(all_reduced(ranks, parts) == std::vector<int>{5, 10, 5, 10, 16});
        destroy(parts);
    }
}

TEST_CASE("a destroyed communicator leaves nothing behind", "[nccl]") {
    box::knobs("GPUSIM_DEVICES=2");
    {
        const Ranks ranks(2);
        CHECK(shared_things() > 0);
        std::vector<ncclComm_t> parts(2, nullptr);
        ranks.together([&](int r) {
            return ncclCommSplit(ranks.comm(r), 0, 0, &parts[static_cast<size_t>(r)], nullptr);
        });
        CHECK(all_reduced(ranks, parts) == std::vector<int>{3, 3});
        destroy(parts);
    }
    CHECK(shared_things() == 0);
}

TEST_CASE("shrink within one process, in a group", "[nccl]") {
    box::knobs("GPUSIM_DEVICES=3");
    const Ranks ranks(3);
    const std::vector<ncclComm_t> parts = shrunk(ranks, 1);
    CHECK(all_reduced(ranks, parts) == std::vector<int>{5, 2, 5});
    destroy(parts);
}

TEST_CASE("a thread for each rank", "[nccl]") {
    box::knobs("GPUSIM_DEVICES=4");
    constexpr int kRanks = 4;
    CU(cuInit(0));
    ncclUniqueId id;
    NC(ncclGetUniqueId(&id));
    int results[kRanks] = {};
    std::vector<std::thread> threads;
    for (int rank = 0; rank < kRanks; ++rank)
        threads.emplace_back([&results, &id, rank] {
            CUcontext context;
            CUstream stream;
            CUdeviceptr buffer;
            ncclComm_t comm;
            int value = rank + 1;
            cuDevicePrimaryCtxRetain(&context, rank);
            cuCtxSetCurrent(context);
            cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
            cuMemAlloc(&buffer, 400'000);
            if (ncclCommInitRank(&comm, kRanks, id, rank) != ncclSuccess) return;
            void* const b = reinterpret_cast<void*>(buffer);
            for (int i = 0; i < 5; ++i) {  // small ones and large ones: at once and on the mover's thread
                cuMemcpyHtoD(buffer, &value, sizeof value);
                ncclAllReduce(b, b, i % 2 == 0 ? 1 : 100'000, ncclInt, ncclSum, comm,
                              reinterpret_cast<cudaStream_t>(stream));
                cuStreamSynchronize(stream);
            }
            cuMemcpyDtoH(&results[rank], buffer, sizeof value);
            ncclCommDestroy(comm);
        });
    for (std::thread& thread : threads) thread.join();
    for (const int result : results) CHECK(result == 10);
}

TEST_CASE("abort ends what is under way, without an error of the device", "[nccl]") {
    box::knobs("GPUSIM_DEVICES=2");
    Ranks ranks(2);
    int* const b = ranks.put(0, std::vector<int>{1});
    NC(ncclAllReduce(b, b, 1, ncclInt, ncclSum, ranks.comm(0), ranks.stream(0)));
    ranks.use(0);
    CU_IS(cuStreamQuery(reinterpret_cast<CUstream>(ranks.stream(0))), CUDA_ERROR_NOT_READY);
    NC(ncclCommAbort(ranks.comm(0)));
    ranks.forget(0);
    ranks.synchronize();
    CHECK(ranks.get(0, b, 1)[0] == 1);
}

TEST_CASE("revoke ends what is under way; what remains is to shrink or destroy", "[nccl]") {
    box::knobs("GPUSIM_DEVICES=3");
    const Ranks ranks(3);
    int* const b = ranks.put(0, std::vector<int>{1});
    NC(ncclAllReduce(b, b, 1, ncclInt, ncclSum, ranks.comm(0), ranks.stream(0)));
    for (int r = 0; r < 3; ++r) NC(ncclCommRevoke(ranks.comm(r), NCCL_REVOKE_DEFAULT));
    ranks.synchronize();
    CHECK(state_of(ranks.comm(0)) == ncclSuccess);
    NC_IS(ncclAllReduce(b, b, 1, ncclInt, ncclSum, ranks.comm(0), ranks.stream(0)), ncclInvalidUsage);
    NC_IS(ncclCommFinalize(ranks.comm(0)), ncclInvalidUsage);
    const std::vector<ncclComm_t> parts = shrunk(ranks, 0);
    CHECK(all_reduced(ranks, parts) == std::vector<int>{1, 6, 6});
    destroy(parts);
}

TEST_CASE("finalize waits for what is under way and closes", "[nccl]") {
    box::knobs("GPUSIM_DEVICES=1 GPUSIM_NCCL_LATENCY_US=20000");
    const Ranks ranks(1);
    int* const b = ranks.put(0, std::vector<int>{1});
    NC(ncclAllReduce(b, b, 1, ncclInt, ncclSum, ranks.comm(0), ranks.stream(0)));
    NC(ncclCommFinalize(ranks.comm(0)));
    ranks.use(0);
    CU(cuStreamQuery(reinterpret_cast<CUstream>(ranks.stream(0))));
    CHECK(state_of(ranks.comm(0)) == ncclSuccess);
    NC_IS(ncclCommFinalize(ranks.comm(0)), ncclInvalidUsage);
    NC_IS(ncclAllReduce(b, b, 1, ncclInt, ncclSum, ranks.comm(0), ranks.stream(0)), ncclInvalidUsage);
}

TEST_CASE("finalize waits for the end of what cannot be done, too", "[nccl]") {
    box::knobs("GPUSIM_DEVICES=2 GPUSIM_NCCL_TIMEOUT_S=0.2");
    const Ranks ranks(2);
    int* const b = ranks.put(0, std::vector<int>{1});
    NC(ncclAllReduce(b, b, 1, ncclInt, ncclSum, ranks.comm(0), ranks.stream(0)));
    NC(ncclCommFinalize(ranks.comm(0)));
    CHECK(state_of(ranks.comm(0)) == ncclRemoteError);
}

TEST_CASE("a non-blocking communicator is of no use until it is ready", "[nccl]") {
    box::knobs("GPUSIM_DEVICES=2");
    CU(cuInit(0));
    ncclUniqueId id;
    NC(ncclGetUniqueId(&id));
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    ncclComm_t comms[2];
    CUcontext contexts[2];
    for (int r = 0; r < 2; ++r) CU(cuDevicePrimaryCtxRetain(&contexts[r], r));
    CU(cuCtxSetCurrent(contexts[0]));
    NC_IS(ncclCommInitRankConfig(&comms[0], 2, id, 0, &config), ncclInProgress);
    int count = 0;
    NC_IS(ncclCommCount(comms[0], &count), ncclInvalidArgument);
    CHECK(state_of(comms[0]) == ncclInProgress);
    CU(cuCtxSetCurrent(contexts[1]));
    NC_IS(ncclCommInitRankConfig(&comms[1], 2, id, 1, &config), ncclInProgress);
    for (ncclComm_t comm : comms)
        while (state_of(comm) == ncclInProgress) std::this_thread::yield();
    NC(ncclCommCount(comms[0], &count));
    CHECK(count == 2);
    for (ncclComm_t comm : comms) NC(ncclCommDestroy(comm));
}

TEST_CASE("a communicator can be aborted while it is being made", "[nccl]") {
    box::knobs("GPUSIM_DEVICES=2");
    CU(cuInit(0));
    ncclUniqueId id;
    NC(ncclGetUniqueId(&id));
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    ncclComm_t comm;
    NC_IS(ncclCommInitRankConfig(&comm, 2, id, 0, &config), ncclInProgress);
    NC(ncclCommAbort(comm));
    ncclResult_t state;
    NC_IS(ncclCommGetAsyncError(comm, &state), ncclInvalidArgument);
}

TEST_CASE("a unique id serves one communicator", "[nccl]") {
    box::knobs("GPUSIM_DEVICES=1");
    CU(cuInit(0));
    ncclUniqueId id;
    ncclComm_t comm = nullptr, second = nullptr;
    NC(ncclGetUniqueId(&id));
    NC(ncclCommInitRank(&comm, 1, id, 0));
    CHECK(ncclCommInitRank(&second, 1, id, 0) != ncclSuccess);
    CHECK(second == nullptr);
    NC(ncclCommDestroy(comm));
}

TEST_CASE("a rank that never comes ends the operation with an error", "[nccl]") {
    box::knobs("GPUSIM_DEVICES=2 GPUSIM_NCCL_TIMEOUT_S=0.2");
    const Ranks ranks(2);
    int* const b = ranks.put(0, std::vector<int>{1});
    NC(ncclAllReduce(b, b, 1, ncclInt, ncclSum, ranks.comm(0), ranks.stream(0)));
    ranks.use(0);
    CU_IS(cuStreamSynchronize(reinterpret_cast<CUstream>(ranks.stream(0))), CUDA_ERROR_LAUNCH_FAILED);
    CHECK(state_of(ranks.comm(0)) == ncclRemoteError);
    NC_IS(ncclAllReduce(b, b, 1, ncclInt, ncclSum, ranks.comm(0), ranks.stream(0)), ncclRemoteError);
}

}  // namespace communicator_test
