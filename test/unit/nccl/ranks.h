// The devices of this process as the ranks of one communicator, driven by one thread: what the tests of NCCL
// start from. Everything is checked; a failing call ends the case.
#pragma once

#include <cuda.h>
#include <nccl.h>

#include <functional>
#include <vector>

#include "box.h"

#define NC(call) REQUIRE((call) == ncclSuccess)
#define NC_IS(call, expected) REQUIRE((call) == (expected))

class Ranks {
  public:
    explicit Ranks(int count) : contexts_(index(count)), streams_(index(count)), comms_(index(count)) {
        CU(cuInit(0));
        for (int rank = 0; rank < count; ++rank) {
            CU(cuDevicePrimaryCtxRetain(&contexts_[index(rank)], rank));
            use(rank);
            CU(cuStreamCreate(&streams_[index(rank)], CU_STREAM_NON_BLOCKING));
        }
        NC(ncclCommInitAll(comms_.data(), count, nullptr));
    }
    ~Ranks() {
        for (ncclComm_t comm : comms_) ncclCommDestroy(comm);
    }
    Ranks(const Ranks&) = delete;
    Ranks& operator=(const Ranks&) = delete;

    int count() const { return static_cast<int>(comms_.size()); }
    ncclComm_t comm(int rank) const { return comms_[index(rank)]; }
    // The test has closed this one itself.
    void forget(int rank) { comms_[index(rank)] = nullptr; }
    cudaStream_t stream(int rank) const { return reinterpret_cast<cudaStream_t>(streams_[index(rank)]); }
    void use(int rank) const { CU(cuCtxSetCurrent(contexts_[index(rank)])); }

    // Device memory of that rank with these values in it.
    template <class T>
    T* put(int rank, const std::vector<T>& values) const {
        use(rank);
        CUdeviceptr address = 0;
        CU(cuMemAlloc(&address, values.size() * sizeof(T)));
        CU(cuMemcpyHtoD(address, values.data(), values.size() * sizeof(T)));
        return reinterpret_cast<T*>(address);
    }
    template <class T>
    std::vector<T> get(int rank, const T* from, size_t count) const {
        use(rank);
        std::vector<T> values(count);
        CU(cuMemcpyDtoH(values.data(), reinterpret_cast<CUdeviceptr>(from), count * sizeof(T)));
        return values;
    }

    // One call for each rank, in one group; then waits for all of them.
    void together(const std::function<ncclResult_t(int)>& call) const {
        NC(ncclGroupStart());
        for (int rank = 0; rank < count(); ++rank) NC(call(rank));
        NC(ncclGroupEnd());
        synchronize();
    }
    void synchronize() const {
        for (int rank = 0; rank < count(); ++rank) {
            use(rank);
            CU(cuStreamSynchronize(streams_[index(rank)]));
        }
    }

  private:
    static size_t index(int rank) { return static_cast<size_t>(rank); }

    std::vector<CUcontext> contexts_;
    std::vector<CUstream> streams_;
    std::vector<ncclComm_t> comms_;
};
