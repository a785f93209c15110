#include "cudart/boundary.h"

namespace cudart {
namespace {

cudaError_t device_count(int* count) { return DRIVER(cuDeviceGetCount)(count); }

cudaError_t set_device(int device) { return choose_device(device); }

cudaError_t get_device(int* device) {
    if (device == nullptr) return cudaErrorInvalidValue;
    *device = chosen_device();
    return cudaSuccess;
}

cudaError_t init_device(int device, unsigned device_flags, unsigned flags) {
    constexpr unsigned kFlagsAreValid = cudaInitDeviceFlagsAreValid;
    if (flags & ~kFlagsAreValid) return cudaErrorInvalidValue;
    cudaError_t error = cudaSuccess;
    if (flags & kFlagsAreValid) error = DRIVER(cuDevicePrimaryCtxSetFlags_v2)(device, device_flags);
    CUcontext context = nullptr;
    return error == cudaSuccess ? primary_context(device, context) : error;
}

cudaError_t set_valid_devices(int* devices, int count) {
    if (count == 0) return cudaSuccess;
    return devices == nullptr || count < 0 ? cudaErrorInvalidValue : choose_device(devices[0]);
}

cudaError_t set_device_flags(unsigned flags) {
    return DRIVER(cuDevicePrimaryCtxSetFlags_v2)(chosen_device(), flags);
}

cudaError_t get_device_flags(unsigned* flags) {
    int active = 0;
    return DRIVER(cuDevicePrimaryCtxGetState)(chosen_device(), flags, &active);
}

cudaError_t enable_peer_access(int peer, unsigned flags) {
    CUcontext context = nullptr;
    const cudaError_t error = primary_context(peer, context);
    return error == cudaSuccess ? DRIVER(cuCtxEnablePeerAccess)(context, flags) : error;
}

cudaError_t disable_peer_access(int peer) {
    CUcontext context = nullptr;
    const cudaError_t error = primary_context(peer, context);
    return error == cudaSuccess ? DRIVER(cuCtxDisablePeerAccess)(context) : error;
}

cudaError_t runtime_version(int* version) {
    if (version == nullptr) return cudaErrorInvalidValue;
    *version = CUDART_VERSION;
    return cudaSuccess;
}

// No driver is version 0, not an error.
cudaError_t driver_version(int* version) {
    if (version == nullptr) return cudaErrorInvalidValue;
    *version = 0;
    return open_driver() == cudaSuccess ? DRIVER(cuDriverGetVersion)(version) : cudaSuccess;
}

}  // namespace
}  // namespace cudart

using namespace cudart;

EXPORT_RUNTIME(cudaGetDeviceCount, driver, device_count)
EXPORT_RUNTIME(cudaSetDevice, driver, set_device)
EXPORT_RUNTIME(cudaGetDevice, driver, get_device)
EXPORT_RUNTIME(cudaInitDevice, driver, init_device)
EXPORT_RUNTIME(cudaSetValidDevices, driver, set_valid_devices)
EXPORT_RUNTIME(cudaSetDeviceFlags, driver, set_device_flags)
EXPORT_RUNTIME(cudaGetDeviceFlags, driver, get_device_flags)
EXPORT_RUNTIME(cudaDeviceReset, driver, reset_device)
FORWARD(cudaDeviceSynchronize, cuCtxSynchronize)
FORWARD_NEEDS(cudaDeviceGetAttribute, driver, cuDeviceGetAttribute)
FORWARD_NEEDS(cudaDeviceGetP2PAttribute, driver, cuDeviceGetP2PAttribute)
FORWARD_NEEDS(cudaDeviceGetPCIBusId, driver, cuDeviceGetPCIBusId)
FORWARD_NEEDS(cudaDeviceGetByPCIBusId, driver, cuDeviceGetByPCIBusId)
FORWARD_NEEDS(cudaDeviceGetHostAtomicCapabilities, driver, cuDeviceGetHostAtomicCapabilities)
FORWARD_NEEDS(cudaDeviceGetP2PAtomicCapabilities, driver, cuDeviceGetP2PAtomicCapabilities)
FORWARD_NEEDS(cudaDeviceCanAccessPeer, driver, cuDeviceCanAccessPeer)
EXPORT_RUNTIME(cudaDeviceEnablePeerAccess, context, enable_peer_access)
EXPORT_RUNTIME(cudaDeviceDisablePeerAccess, context, disable_peer_access)

FORWARD(cudaDeviceGetLimit, cuCtxGetLimit)
FORWARD(cudaDeviceSetLimit, cuCtxSetLimit)
FORWARD(cudaDeviceGetCacheConfig, cuCtxGetCacheConfig)
FORWARD(cudaDeviceSetCacheConfig, cuCtxSetCacheConfig)
FORWARD(cudaDeviceGetSharedMemConfig, cuCtxGetSharedMemConfig)
FORWARD(cudaDeviceSetSharedMemConfig, cuCtxSetSharedMemConfig)
FORWARD(cudaDeviceGetStreamPriorityRange, cuCtxGetStreamPriorityRange)
FORWARD(cudaCtxResetPersistingL2Cache, cuCtxResetPersistingL2Cache)
FORWARD(cudaDeviceFlushGPUDirectRDMAWrites, cuFlushGPUDirectRDMAWrites)

FORWARD_NEEDS(cudaDeviceGetDefaultMemPool, driver, cuDeviceGetDefaultMemPool)
FORWARD_NEEDS(cudaDeviceGetMemPool, driver, cuDeviceGetMemPool)
FORWARD_NEEDS(cudaDeviceSetMemPool, driver, cuDeviceSetMemPool)
FORWARD_NEEDS(cudaDeviceGraphMemTrim, driver, cuDeviceGraphMemTrim)
FORWARD_NEEDS(cudaDeviceGetGraphMemAttribute, driver, cuDeviceGetGraphMemAttribute)
FORWARD_NEEDS(cudaDeviceSetGraphMemAttribute, driver, cuDeviceSetGraphMemAttribute)

EXPORT_RUNTIME(cudaRuntimeGetVersion, nothing, runtime_version)
EXPORT_RUNTIME(cudaDriverGetVersion, nothing, driver_version)
FORWARD(cudaProfilerStart, cuProfilerStart)
FORWARD(cudaProfilerStop, cuProfilerStop)
FORWARD_NEEDS(cudaGetExportTable, driver, cuGetExportTable)
FORWARD_NEEDS(cudaLogsRegisterCallback, driver, cuLogsRegisterCallback)
FORWARD_NEEDS(cudaLogsUnregisterCallback, driver, cuLogsUnregisterCallback)
FORWARD_NEEDS(cudaLogsCurrent, driver, cuLogsCurrent)
FORWARD_NEEDS(cudaLogsDumpToFile, driver, cuLogsDumpToFile)
FORWARD_NEEDS(cudaLogsDumpToMemory, driver, cuLogsDumpToMemory)
