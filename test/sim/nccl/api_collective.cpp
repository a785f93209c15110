// Collectives, messages and groups: arguments are checked as nccl.h describes them, the rest is the group's.
#include <cmath>

#include "api.h"
#include "arithmetic.h"
#include "communicator.h"
#include "group.h"

namespace gpusim::nccl::api {
namespace {

ncclResult_t find_reduction(ncclComm& comm, ncclRedOp_t op, Reduction& into) {
    if (op >= 0 && op < ncclNumOps) {
        into.op = op;
        return ncclSuccess;
    }
    const std::lock_guard guard(comm.mutex);
    const auto index = static_cast<size_t>(op) - static_cast<size_t>(ncclNumOps);
    if (op < 0 || index >= comm.reductions.size() || comm.reductions[index] == nullptr)
        return refuse(ncclInvalidArgument, "no such reduction operator");
    into = *comm.reductions[index];
    return ncclSuccess;
}

ncclResult_t check_type(const Transfer& t) {
    if (type_bytes(t.type) == 0) return refuse(ncclInvalidArgument, "no such data type");
    if (t.count > (size_t{1} << 48)) return refuse(ncclInvalidArgument, "a count that no memory holds");
    if (t.reduces() && t.reduction.scaled && t.reduction.scalar_type != t.type)
        return refuse(ncclInvalidArgument, "the operator was made for another data type");
    return ncclSuccess;
}

ncclResult_t check_place(const ncclComm& comm, const Transfer& t) {
    if (t.peer < 0 || t.peer >= comm.nranks) return refuse(ncclInvalidArgument, "no such rank");
    if (t.count == 0) return ncclSuccess;
    const Share share{t, comm.rank, comm.nranks};
    if (share.sends() && t.send == nullptr) return refuse(ncclInvalidArgument, "the send buffer is null");
    if (share.receives() && t.recv == nullptr)
        return refuse(ncclInvalidArgument, "the receive buffer is null");
    return ncclSuccess;
}

ncclResult_t check_state(const ncclComm& comm) {
    const ncclResult_t state = comm.state.load();
    if (state == ncclInProgress)
        return refuse(ncclInvalidArgument, "the communicator is still busy with what it was asked before");
    if (state != ncclSuccess) return refuse(state, "an earlier operation of the communicator has failed");
    if (comm.finalized || comm.stopped) return refuse(ncclInvalidUsage, "the communicator is closed");
    return ncclSuccess;
}

ncclResult_t check(ncclComm& comm, ncclRedOp_t op, Transfer& t) {
    if (const auto result = check_state(comm); result != ncclSuccess) return result;
    if (const auto result = find_reduction(comm, op, t.reduction); result != ncclSuccess) return result;
    if (const auto result = check_type(t); result != ncclSuccess) return result;
    return check_place(comm, t);
}

ncclResult_t ask(ncclComm_t handle, cudaStream_t stream, Transfer t, ncclRedOp_t op = ncclSum) {
    Group& group = Group::of_this_thread();
    const Communicator comm = find_communicator(handle);
    if (comm == nullptr) return group.spoil(no_communicator());
    if (const auto result = check(*comm, op, t); result != ncclSuccess) return group.spoil(result);
    if (t.count == 0 && !t.is_message()) return ncclSuccess;
    return group.add(comm, stream, t);
}

Transfer transfer(Kind kind, const void* send, void* recv, size_t count, ncclDataType_t type, int peer = 0) {
    return {kind, send, recv, count, type, {}, peer};
}

}  // namespace

ncclResult_t all_reduce(const void* send, void* recv, size_t count, ncclDataType_t type, ncclRedOp_t op,
                        ncclComm_t comm, cudaStream_t stream) {
    return ask(comm, stream, transfer(Kind::all_reduce, send, recv, count, type), op);
}

ncclResult_t reduce(const void* send, void* recv, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
                    ncclComm_t comm, cudaStream_t stream) {
    return ask(comm, stream, transfer(Kind::reduce, send, recv, count, type, root), op);
}

ncclResult_t reduce_scatter(const void* send, void* recv, size_t count, ncclDataType_t type, ncclRedOp_t op,
                            ncclComm_t comm, cudaStream_t stream) {
    return ask(comm, stream, transfer(Kind::reduce_scatter, send, recv, count, type), op);
}

ncclResult_t all_gather(const void* send, void* recv, size_t count, ncclDataType_t type, ncclComm_t comm,
                        cudaStream_t stream) {
    return ask(comm, stream, transfer(Kind::all_gather, send, recv, count, type));
}

ncclResult_t broadcast(const void* send, void* recv, size_t count, ncclDataType_t type, int root,
                       ncclComm_t comm, cudaStream_t stream) {
    return ask(comm, stream, transfer(Kind::broadcast, send, recv, count, type, root));
}

// Through the exported name: whoever stands in front of ncclBroadcast sees this call, too.
ncclResult_t bcast(void* buffer, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                   cudaStream_t stream) {
    return ::ncclBroadcast(buffer, buffer, count, type, root, comm, stream);
}

ncclResult_t all_to_all(const void* send, void* recv, size_t count, ncclDataType_t type, ncclComm_t comm,
                        cudaStream_t stream) {
    return ask(comm, stream, transfer(Kind::all_to_all, send, recv, count, type));
}

ncclResult_t gather(const void* send, void* recv, size_t count, ncclDataType_t type, int root,
                    ncclComm_t comm, cudaStream_t stream) {
    return ask(comm, stream, transfer(Kind::gather, send, recv, count, type, root));
}

ncclResult_t scatter(const void* send, void* recv, size_t count, ncclDataType_t type, int root,
                     ncclComm_t comm, cudaStream_t stream) {
    return ask(comm, stream, transfer(Kind::scatter, send, recv, count, type, root));
}

ncclResult_t send(const void* buffer, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                  cudaStream_t stream) {
    return ask(comm, stream, transfer(Kind::send, buffer, nullptr, count, type, peer));
}

ncclResult_t recv(void* buffer, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                  cudaStream_t stream) {
    return ask(comm, stream, transfer(Kind::recv, nullptr, buffer, count, type, peer));
}

// What a call's settings would change is how it is done.
ncclResult_t all_reduce_as_told(const void* send, void* recv, size_t count, ncclDataType_t type,
                                ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream,
                                const ncclCollConfig_t*) {
    return all_reduce(send, recv, count, type, op, comm, stream);
}
ncclResult_t reduce_as_told(const void* send, void* recv, size_t count, ncclDataType_t type, ncclRedOp_t op,
                            int root, ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t*) {
    return reduce(send, recv, count, type, op, root, comm, stream);
}
ncclResult_t reduce_scatter_as_told(const void* send, void* recv, size_t count, ncclDataType_t type,
                                    ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream,
                                    const ncclCollConfig_t*) {
    return reduce_scatter(send, recv, count, type, op, comm, stream);
}
ncclResult_t all_gather_as_told(const void* send, void* recv, size_t count, ncclDataType_t type,
                                ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t*) {
    return all_gather(send, recv, count, type, comm, stream);
}
ncclResult_t broadcast_as_told(const void* send, void* recv, size_t count, ncclDataType_t type, int root,
                               ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t*) {
    return broadcast(send, recv, count, type, root, comm, stream);
}
ncclResult_t all_to_all_as_told(const void* send, void* recv, size_t count, ncclDataType_t type,
                                ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t*) {
    return all_to_all(send, recv, count, type, comm, stream);
}
ncclResult_t gather_as_told(const void* send, void* recv, size_t count, ncclDataType_t type, int root,
                            ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t*) {
    return gather(send, recv, count, type, root, comm, stream);
}
ncclResult_t scatter_as_told(const void* send, void* recv, size_t count, ncclDataType_t type, int root,
                             ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t*) {
    return scatter(send, recv, count, type, root, comm, stream);
}

ncclResult_t group_start() {
    Group::of_this_thread().start();
    return ncclSuccess;
}

ncclResult_t group_end() { return Group::of_this_thread().end(); }

ncclResult_t group_simulate_end(ncclSimInfo_t* info) {
    constexpr ncclSimInfo_t kFresh = NCCL_SIM_INFO_INITIALIZER;
    Ns estimate_ns = 0;
    const ncclResult_t result = Group::of_this_thread().simulate_end(&estimate_ns);
    if (result != ncclSuccess || info == nullptr) return result;
    if (info->magic != kFresh.magic) return refuse(ncclInvalidArgument, "the info was not initialized");
    info->estimatedTime = static_cast<float>(static_cast<double>(estimate_ns) * 1e-3);
    return ncclSuccess;
}

}  // namespace gpusim::nccl::api
