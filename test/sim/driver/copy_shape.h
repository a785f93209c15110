// How each form of copy is said in the one form that all of them become: cuMemcpy3DPeer's. No lock needed.
#pragma once

#include "api.h"

namespace gpusim::driver {

using CopyShape = CUDA_MEMCPY3D_PEER;

// An end of a copy without rows: an address of some kind, or an offset in an array.
struct CopyEnd {
    CUmemorytype type;
    CUdeviceptr address = 0;
    CUarray array = nullptr;
    size_t offset = 0;
};

inline CopyEnd host(const void* address) {
    return {CU_MEMORYTYPE_HOST, reinterpret_cast<CUdeviceptr>(address)};
}
inline CopyEnd on_device(CUdeviceptr address) { return {CU_MEMORYTYPE_DEVICE, address}; }
inline CopyEnd unified(CUdeviceptr address) { return {CU_MEMORYTYPE_UNIFIED, address}; }
inline CopyEnd in_array(CUarray array, size_t offset) { return {CU_MEMORYTYPE_ARRAY, 0, array, offset}; }

inline CopyShape flat(CopyEnd to, CopyEnd from, size_t bytes) {
    CopyShape shape{};
    shape.srcMemoryType = from.type, shape.dstMemoryType = to.type;
    shape.srcHost = reinterpret_cast<const void*>(from.address),
    shape.dstHost = reinterpret_cast<void*>(to.address);
    shape.srcDevice = from.address, shape.dstDevice = to.address;
    shape.srcArray = from.array, shape.dstArray = to.array;
    shape.srcXInBytes = from.offset, shape.dstXInBytes = to.offset;
    shape.WidthInBytes = bytes;
    shape.Height = shape.Depth = 1;
    return shape;
}

// From the structures of 2D and 3D copies, in the first version's narrow form as well as the present one.
template <class Given>
CopyShape widened(const Given& given) {
    CopyShape shape{};
    shape.srcMemoryType = given.srcMemoryType, shape.dstMemoryType = given.dstMemoryType;
    shape.srcHost = given.srcHost, shape.dstHost = given.dstHost;
    shape.srcDevice = given.srcDevice, shape.dstDevice = given.dstDevice;
    shape.srcArray = given.srcArray, shape.dstArray = given.dstArray;
    shape.srcXInBytes = given.srcXInBytes, shape.dstXInBytes = given.dstXInBytes;
    shape.srcY = given.srcY, shape.dstY = given.dstY;
    shape.srcPitch = given.srcPitch, shape.dstPitch = given.dstPitch;
    shape.WidthInBytes = given.WidthInBytes, shape.Height = given.Height, shape.Depth = 1;
    if constexpr (requires { given.Depth; }) {
        shape.srcZ = given.srcZ, shape.dstZ = given.dstZ;
        shape.srcLOD = given.srcLOD, shape.dstLOD = given.dstLOD;
        shape.srcHeight = given.srcHeight, shape.dstHeight = given.dstHeight;
        shape.Depth = given.Depth;
    }
    return shape;
}

}  // namespace gpusim::driver
