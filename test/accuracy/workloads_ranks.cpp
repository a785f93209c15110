// Eight processes, a device each, that wait for each other in collectives.
#include <nccl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "work.h"

using namespace accuracy;

namespace {

constexpr int kRanks = 8;
constexpr size_t kGradients = 4 << 20;

void check_nccl(ncclResult_t result) {
    if (result == ncclSuccess) return;
    std::fprintf(stderr, "accuracy: %s\n", ncclGetErrorString(result));
    std::exit(1);
}

void train(int rank, const ncclUniqueId& id, const Run& run) {
    Chance chance(run.seed * kRanks + static_cast<uint64_t>(rank));
    use_device(rank);
    const CUstream compute = make_stream(), talk = make_stream();
    const CUevent ready = make_event(), done = make_event();
    const CUdeviceptr gradients = device_memory(kGradients * sizeof(float));
    ncclComm_t comm = nullptr;
    check_nccl(ncclCommInitRank(&comm, kRanks, id, rank));
    for (int64_t i = 0; i < run.steps; ++i) {
        for (int64_t n = chance.between(15, 25); n > 0; --n) launch(kernel(50 * kMicrosecond), compute);
        CU(cuEventRecord(ready, compute));
        CU(cuStreamWaitEvent(talk, ready, 0));
        void* data = reinterpret_cast<void*>(gradients);
        check_nccl(ncclAllReduce(data, data, kGradients, ncclFloat, ncclSum, comm,
                                 reinterpret_cast<cudaStream_t>(talk)));
        CU(cuEventRecord(done, talk));
        CU(cuStreamWaitEvent(compute, done, 0));
        launch(kernel(100 * kMicrosecond), compute);
        CU(cuStreamSynchronize(compute));
        work(chance.between(100, 300) * kMicrosecond);
    }
    check_nccl(ncclCommDestroy(comm));
}

}  // namespace

// Devices 0 here: no context in the parent, whose children could not use it.
WORKLOAD(eight_ranks, 0, 60,
         "eight ranks: 15 to 25 kernels of 50 us, an AllReduce of 16 MB, 100 us, host work") {
    ncclUniqueId id;
    check_nccl(ncclGetUniqueId(&id));
    for (int rank = 0; rank < kRanks; ++rank) {
        if (fork() != 0) continue;
        setenv("RANK", std::to_string(rank).c_str(), 1);
        CU(cuInit(0));
        train(rank, id, run);
        std::exit(0);
    }
    int failed = 0;
    for (int status = 0; wait(&status) > 0;) failed += status != 0;
    if (failed != 0) std::exit(1);
}
