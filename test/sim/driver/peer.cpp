// Peers: any two devices of the box reach each other's memory.
#include "api.h"
#include "engine/knobs.h"
#include "objects.h"

using namespace gpusim;
using namespace gpusim::driver;

namespace {

// Both must exist, and differ: a device is no peer of itself.
CUresult check_pair(CUdevice one, CUdevice other) {
    const bool exist = device(one) != nullptr && device(other) != nullptr;
    return exist && one != other ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

// What a link does natively: all whole-number operations and the addition of floats, in 32 and 64 bits.
unsigned capabilities_of(CUatomicOperation operation) {
    constexpr unsigned kSizes = CU_ATOMIC_CAPABILITY_SCALAR_32 | CU_ATOMIC_CAPABILITY_SCALAR_64;
    constexpr unsigned kSigns = CU_ATOMIC_CAPABILITY_SIGNED | CU_ATOMIC_CAPABILITY_UNSIGNED;
    switch (operation) {
        case CU_ATOMIC_OPERATION_FLOAT_ADD:
            return kSizes | CU_ATOMIC_CAPABILITY_REDUCTION;
        case CU_ATOMIC_OPERATION_FLOAT_MIN:
        case CU_ATOMIC_OPERATION_FLOAT_MAX:
            return 0;
        case CU_ATOMIC_OPERATION_EXCHANGE:
        case CU_ATOMIC_OPERATION_CAS:
            return kSizes | kSigns;
        default:
            return kSizes | kSigns | CU_ATOMIC_CAPABILITY_REDUCTION;
    }
}

CUresult list_capabilities(unsigned* capabilities, const CUatomicOperation* operations, unsigned count) {
    if (capabilities == nullptr || operations == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; ++i) {
        if (operations[i] < CU_ATOMIC_OPERATION_INTEGER_ADD || operations[i] >= CU_ATOMIC_OPERATION_MAX)
            return CUDA_ERROR_INVALID_VALUE;
        capabilities[i] = capabilities_of(operations[i]);
    }
    return CUDA_SUCCESS;
}

}  // namespace

API(cuDeviceCanAccessPeer)(int* can, CUdevice from, CUdevice peer) {
    if (can == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    if (device(from) == nullptr || device(peer) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    *can = from != peer ? 1 : 0;
    return CUDA_SUCCESS;
}

API(cuDeviceGetP2PAttribute)(int* value, CUdevice_P2PAttribute attribute, CUdevice from, CUdevice to) {
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    RETURN_IF_FAILED(check_pair(from, to));
    switch (attribute) {
        case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
        case CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED:
            *value = 0;
            return CUDA_SUCCESS;
        case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
        case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
        case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
            *value = 1;
            return CUDA_SUCCESS;
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
}

API(cuDeviceGetP2PAtomicCapabilities)
(unsigned* capabilities, const CUatomicOperation* operations, unsigned count, CUdevice from, CUdevice to) {
    const auto held = engine::lock();
    RETURN_IF_FAILED(check_pair(from, to));
    return list_capabilities(capabilities, operations, count);
}
API(cuDeviceGetHostAtomicCapabilities)
(unsigned* capabilities, const CUatomicOperation* operations, unsigned count, CUdevice ordinal) {
    const auto held = engine::lock();
    if (device(ordinal) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    return list_capabilities(capabilities, operations, count);
}

API(cuCtxEnablePeerAccess)(CUcontext handle, unsigned flags) {
    const auto held = engine::lock();
    Context* context = current_context();
    Context* peer = contexts().find(handle);
    if (context == nullptr || peer == nullptr || context == peer) return CUDA_ERROR_INVALID_CONTEXT;
    if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
    if (context->device == peer->device) return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    return context->peers.insert(peer).second ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}

API(cuCtxDisablePeerAccess)(CUcontext handle) {
    const auto held = engine::lock();
    Context* context = current_context();
    Context* peer = contexts().find(handle);
    if (context == nullptr || peer == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    return context->peers.erase(peer) != 0 ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}
