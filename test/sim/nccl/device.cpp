#include "device.h"

#include <cstring>

#include "driver_api.h"

namespace gpusim::nccl {
namespace {

ncclResult_t no_cuda(const char* why) { return refuse(ncclUnhandledCudaError, why); }

ncclResult_t identify(ncclComm& comm) {
    CUuuid uuid;
    if (driver_api().cuDeviceGetUuid(&uuid, comm.device) != CUDA_SUCCESS)
        return no_cuda("the device has no uuid");
    std::memcpy(comm.device_id, uuid.bytes, sizeof comm.device_id);
    return ncclSuccess;
}

}  // namespace

ncclResult_t use_current_context(ncclComm& comm) {
    if (!driver_api().complete) return no_cuda("there is no driver, or it lacks what NCCL needs");
    if (driver_api().cuInit(0) != CUDA_SUCCESS) return no_cuda("the driver does not start");
    CUcontext current = nullptr;
    if (driver_api().cuCtxGetCurrent(&current) != CUDA_SUCCESS) return no_cuda("the driver does not answer");
    if (current == nullptr) {
        const ncclResult_t used = use_device(comm, 0);
        if (used == ncclSuccess) driver_api().cuCtxSetCurrent(comm.context);
        return used;
    }
    comm.context = current;
    if (driver_api().cuCtxGetDevice(&comm.device) != CUDA_SUCCESS)
        return no_cuda("the context has no device");
    return identify(comm);
}

ncclResult_t use_device(ncclComm& comm, int ordinal) {
    if (!driver_api().complete) return no_cuda("there is no driver, or it lacks what NCCL needs");
    if (driver_api().cuInit(0) != CUDA_SUCCESS) return no_cuda("the driver does not start");
    if (driver_api().cuDeviceGet(&comm.device, ordinal) != CUDA_SUCCESS) return no_cuda("no such device");
    if (driver_api().cuDevicePrimaryCtxRetain(&comm.context, comm.device) != CUDA_SUCCESS)
        return no_cuda("the device has no context");
    comm.retained = true;
    return identify(comm);
}

}  // namespace gpusim::nccl
