// What can be asked of a communicator, and its end.
#include "api.h"
#include "closing.h"
#include "group.h"

namespace gpusim::nccl::api {
namespace {

template <class T>
ncclResult_t answer(ncclComm_t handle, T* into, T ncclComm::*field) {
    const Communicator comm = find_communicator(handle);
    if (comm == nullptr) return no_communicator();
    if (into == nullptr) return refuse(ncclInvalidArgument, "no place for the answer");
    if (!comm->ready) return refuse(ncclInvalidArgument, "the communicator is still being made");
    *into = (*comm).*field;
    return ncclSuccess;
}

// The state is ncclInProgress from here on until `task` is over.
ncclResult_t close_with(const Communicator& comm, std::unique_ptr<Task> task) {
    ncclResult_t fine = ncclSuccess;
    comm->state.compare_exchange_strong(fine, ncclInProgress);
    return Group::of_this_thread().add(std::move(task));
}

}  // namespace

ncclResult_t comm_count(const ncclComm_t comm, int* count) { return answer(comm, count, &ncclComm::nranks); }

ncclResult_t comm_rank(const ncclComm_t comm, int* rank) { return answer(comm, rank, &ncclComm::rank); }

ncclResult_t comm_device(const ncclComm_t comm, int* device) {
    return answer(comm, device, &ncclComm::device);
}

ncclResult_t comm_async_error(ncclComm_t handle, ncclResult_t* error) {
    const Communicator comm = find_communicator(handle);
    if (comm == nullptr) return no_communicator();
    if (error == nullptr) return refuse(ncclInvalidArgument, "no place for the answer");
    *error = comm->state;
    return ncclSuccess;
}

ncclResult_t comm_finalize(ncclComm_t handle) {
    const Communicator comm = find_communicator(handle);
    if (comm == nullptr) return Group::of_this_thread().spoil(no_communicator());
    if (comm->stopped || comm->finalized.exchange(true))
        return Group::of_this_thread().spoil(refuse(ncclInvalidUsage, "the communicator is closed"));
    return close_with(comm, std::make_unique<Flush>(comm));
}

ncclResult_t comm_destroy(ncclComm_t handle) {
    if (handle == nullptr) return ncclSuccess;
    const Communicator comm = find_communicator(handle);
    if (comm == nullptr) return no_communicator();
    if (comm->state == ncclSuccess) flush(comm);
    stop(*comm);
    leave(comm);
    return ncclSuccess;
}

ncclResult_t comm_abort(ncclComm_t handle) {
    if (handle == nullptr) return ncclSuccess;
    const Communicator comm = find_communicator(handle);
    if (comm == nullptr) return no_communicator();
    stop(*comm);
    leave(comm);
    return ncclSuccess;
}

ncclResult_t comm_revoke(ncclComm_t handle, int flags) {
    const Communicator comm = find_communicator(handle);
    if (comm == nullptr) return Group::of_this_thread().spoil(no_communicator());
    if (flags != NCCL_REVOKE_DEFAULT)
        return Group::of_this_thread().spoil(refuse(ncclInvalidArgument, "no such flag"));
    stop(*comm);
    return close_with(comm, std::make_unique<Flush>(comm));
}

const char* last_error(const ncclComm_t) { return last_explanation(); }

}  // namespace gpusim::nccl::api
