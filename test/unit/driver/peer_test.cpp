// Peers: who may reach whose memory, and what is asked about links.
#include "copy_forms.h"

namespace peer_test {

TEST_CASE("any two devices are peers, and none of itself", "[peer]") {
    box::knobs("GPUSIM_DEVICES=3");
    CU(cuInit(0));
    for (CUdevice from = 0; from < 3; ++from)
        for (CUdevice to = 0; to < 3; ++to) {
            int can = -1;
            CU(cuDeviceCanAccessPeer(&can, from, to));
            CHECK(can == (from != to ? 1 : 0));
        }
    int can = -1;
    CU_IS(cuDeviceCanAccessPeer(&can, 0, 3), CUDA_ERROR_INVALID_DEVICE);
    CU_IS(cuDeviceCanAccessPeer(&can, -1, 0), CUDA_ERROR_INVALID_DEVICE);
    CU_IS(cuDeviceCanAccessPeer(nullptr, 0, 1), CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("peer access is enabled once, one way, and disabled once", "[peer]") {
    box::knobs("GPUSIM_DEVICES=2");
    CUcontext other = make_context(1), same_device = nullptr, mine = make_context(0);
    CU_IS(cuCtxDisablePeerAccess(other), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    CU(cuCtxEnablePeerAccess(other, 0));
    CU_IS(cuCtxEnablePeerAccess(other, 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    CU_IS(cuCtxEnablePeerAccess(mine, 0), CUDA_ERROR_INVALID_CONTEXT);
    CU_IS(cuCtxEnablePeerAccess(nullptr, 0), CUDA_ERROR_INVALID_CONTEXT);
    CU(cuCtxDisablePeerAccess(other));
    CU_IS(cuCtxDisablePeerAccess(other), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    CU_IS(cuCtxEnablePeerAccess(other, 1), CUDA_ERROR_INVALID_VALUE);
    CU(cuCtxCreate_v2(&same_device, 0, 0));
    CU_IS(cuCtxEnablePeerAccess(mine, 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
    CU(cuCtxEnablePeerAccess(other, 0));
    CU(cuCtxDestroy_v2(other));
    CU_IS(cuCtxDisablePeerAccess(other), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_CASE("links can access and do atomic operations", "[peer]") {
    box::knobs("GPUSIM_DEVICES=2");
    CU(cuInit(0));
    int value = -1;
    CU(cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 1));
    CHECK(value == 1);
    CU(cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED, 0, 1));
    CHECK(value == 1);
    CU_IS(cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 0),
          CUDA_ERROR_INVALID_DEVICE);
    CU_IS(cuDeviceGetP2PAttribute(&value, static_cast<CUdevice_P2PAttribute>(7), 0, 1),
          CUDA_ERROR_INVALID_VALUE);
    unsigned can[2] = {};
    const CUatomicOperation operations[] = {CU_ATOMIC_OPERATION_INTEGER_ADD, CU_ATOMIC_OPERATION_CAS};
    CU(cuDeviceGetP2PAtomicCapabilities(can, operations, 2, 0, 1));
    CHECK((can[0] & CU_ATOMIC_CAPABILITY_SCALAR_64) != 0);
    CHECK((can[1] & CU_ATOMIC_CAPABILITY_REDUCTION) == 0);
    CU_IS(cuDeviceGetP2PAtomicCapabilities(can, operations, 2, 1, 1), CUDA_ERROR_INVALID_DEVICE);
    CU_IS(cuDeviceGetP2PAtomicCapabilities(can, operations, 0, 0, 1), CUDA_ERROR_INVALID_VALUE);
    CU(cuDeviceGetHostAtomicCapabilities(can, operations, 2, 0));
    CU_IS(cuDeviceGetHostAtomicCapabilities(can, operations, 2, 2), CUDA_ERROR_INVALID_DEVICE);
}

}  // namespace peer_test
