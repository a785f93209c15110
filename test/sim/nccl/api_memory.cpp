// Memory, registrations, operators of the program's own, and what the library says about itself.
#include <cstring>

#include "api.h"
#include "arithmetic.h"
#include "communicator.h"
#include "driver_api.h"

namespace gpusim::nccl::api {
namespace {

// On the box no buffer is faster for being registered; the handle is only kept.
ncclResult_t keep_registration(ncclComm_t handle, const void* buffer, size_t size, void** into) {
    const Communicator comm = find_communicator(handle);
    if (comm == nullptr) return no_communicator();
    if (buffer == nullptr || size == 0 || into == nullptr)
        return refuse(ncclInvalidArgument, "no buffer or no handle");
    const std::lock_guard guard(comm->mutex);
    comm->registrations.push_back(std::make_unique<char>());
    *into = comm->registrations.back().get();
    return ncclSuccess;
}

ncclResult_t drop_registration(ncclComm_t handle, const void* registration) {
    const Communicator comm = find_communicator(handle);
    if (comm == nullptr) return no_communicator();
    if (registration == nullptr) return ncclSuccess;
    const std::lock_guard guard(comm->mutex);
    const size_t dropped = std::erase_if(
        comm->registrations, [registration](const auto& known) { return known.get() == registration; });
    return dropped == 1 ? ncclSuccess : refuse(ncclInvalidArgument, "no such registration");
}

bool is_aligned(const void* buffer) {
    return reinterpret_cast<uintptr_t>(buffer) % NCCL_WIN_REQUIRED_ALIGNMENT == 0;
}

}  // namespace

ncclResult_t comm_register(const ncclComm_t comm, void* buffer, size_t size, void** handle) {
    return keep_registration(comm, buffer, size, handle);
}

ncclResult_t comm_deregister(const ncclComm_t comm, void* handle) { return drop_registration(comm, handle); }

ncclResult_t window_register(ncclComm_t comm, void* buffer, size_t size, ncclWindow_t* window, int flags) {
    if (flags != NCCL_WIN_DEFAULT && flags != NCCL_WIN_COLL_SYMMETRIC)
        return refuse(ncclInvalidArgument, "no such flag");
    if (!is_aligned(buffer)) return refuse(ncclInvalidArgument, "a window begins at a multiple of 4096");
    void* handle = nullptr;
    const ncclResult_t result = keep_registration(comm, buffer, window != nullptr ? size : 0, &handle);
    if (result == ncclSuccess) *window = static_cast<ncclWindow_t>(handle);
    return result;
}

ncclResult_t window_deregister(ncclComm_t comm, ncclWindow_t window) {
    return drop_registration(comm, window);
}

ncclResult_t mem_alloc(void** pointer, size_t size) {
    if (pointer == nullptr || size == 0)
        return refuse(ncclInvalidArgument, "no place for the pointer, or no size");
    if (!driver_api().complete) return refuse(ncclUnhandledCudaError, "there is no driver");
    CUdeviceptr address = 0;
    if (driver_api().cuMemAlloc(&address, (size + NCCL_WIN_REQUIRED_ALIGNMENT - 1) /
                                              NCCL_WIN_REQUIRED_ALIGNMENT * NCCL_WIN_REQUIRED_ALIGNMENT) !=
        CUDA_SUCCESS)
        return refuse(ncclUnhandledCudaError, "the driver has no memory");
    *pointer = reinterpret_cast<void*>(address);
    return ncclSuccess;
}

ncclResult_t mem_free(void* pointer) {
    if (pointer == nullptr) return ncclSuccess;
    if (driver_api().complete &&
        driver_api().cuMemFree(reinterpret_cast<CUdeviceptr>(pointer)) == CUDA_SUCCESS)
        return ncclSuccess;
    return refuse(ncclUnhandledCudaError, "the driver does not know that memory");
}

ncclResult_t create_scaled_sum(ncclRedOp_t* op, void* scalar, ncclDataType_t type,
                               ncclScalarResidence_t residence, ncclComm_t handle) {
    const Communicator comm = find_communicator(handle);
    if (comm == nullptr) return no_communicator();
    if (op == nullptr || scalar == nullptr || type_bytes(type) == 0)
        return refuse(ncclInvalidArgument, "no operator, no scalar or no such data type");
    if (residence != ncclScalarDevice && residence != ncclScalarHostImmediate)
        return refuse(ncclInvalidArgument, "no such residence");
    auto made = std::make_unique<Reduction>();
    made->scaled = true;
    made->scalar_type = type;
    if (residence == ncclScalarDevice)
        made->device_scalar = scalar;
    else
        std::memcpy(made->scalar, scalar, type_bytes(type));
    const std::lock_guard guard(comm->mutex);
    *op = static_cast<ncclRedOp_t>(ncclNumOps + static_cast<int>(comm->reductions.size()));
    comm->reductions.push_back(std::move(made));
    return ncclSuccess;
}

ncclResult_t destroy_reduction(ncclRedOp_t op, ncclComm_t handle) {
    const Communicator comm = find_communicator(handle);
    if (comm == nullptr) return no_communicator();
    if (op >= 0 && op < ncclNumOps) return refuse(ncclInvalidArgument, "a built-in operator stays");
    const std::lock_guard guard(comm->mutex);
    const auto index = static_cast<size_t>(op) - static_cast<size_t>(ncclNumOps);
    if (op < 0 || index >= comm->reductions.size() || comm->reductions[index] == nullptr)
        return refuse(ncclInvalidArgument, "no such reduction operator");
    comm->reductions[index] = nullptr;
    return ncclSuccess;
}

ncclResult_t version(int* into) {
    if (into == nullptr) return refuse(ncclInvalidArgument, "no place for the version");
    *into = NCCL_VERSION_CODE;
    return ncclSuccess;
}

const char* error_string(ncclResult_t result) {
    static constexpr const char* kWords[] = {
        "no error",         "unhandled cuda error", "unhandled system error", "internal error",
        "invalid argument", "invalid usage",        "remote error",           "in progress"};
    static_assert(sizeof kWords / sizeof *kWords == ncclNumResults);
    return result >= 0 && result < ncclNumResults ? kWords[result] : "unknown result code";
}

void reset_debug() {}

}  // namespace gpusim::nccl::api
