// What came with NCCL 2.29 and 2.30 beside growing: asked for properly or refused, and nothing else.
#include "api.h"
#include "communicator.h"

namespace gpusim::nccl::api {
namespace {

ncclResult_t check(ncclComm_t handle) {
    const Communicator comm = find_communicator(handle);
    if (comm == nullptr) return no_communicator();
    return comm->ready ? ncclSuccess : refuse(ncclInvalidArgument, "the communicator is still being made");
}

ncclResult_t check_signal(ncclComm_t handle, int peer) {
    if (const auto result = check(handle); result != ncclSuccess) return result;
    const bool is_there = peer >= 0 && peer < find_communicator(handle)->nranks;
    return is_there ? ncclSuccess : refuse(ncclInvalidArgument, "no such rank");
}

}  // namespace

ncclResult_t comm_suspend(ncclComm_t comm, int) { return check(comm); }

ncclResult_t comm_resume(ncclComm_t comm) { return check(comm); }

ncclResult_t put_signal(const void* from, size_t count, ncclDataType_t, int peer, ncclWindow_t, size_t, int,
                        int, unsigned, ncclComm_t comm, cudaStream_t) {
    if (from == nullptr && count != 0) return refuse(ncclInvalidArgument, "the send buffer is null");
    return check_signal(comm, peer);
}

ncclResult_t signal(int peer, int, int, unsigned, ncclComm_t comm, cudaStream_t) {
    return check_signal(comm, peer);
}

ncclResult_t wait_signal(int count, ncclWaitSignalDesc_t* waited, ncclComm_t comm, cudaStream_t) {
    if (count < 1 || waited == nullptr) return refuse(ncclInvalidArgument, "nothing to wait for");
    return check(comm);
}

}  // namespace gpusim::nccl::api
