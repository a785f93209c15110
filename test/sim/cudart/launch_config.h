// The configuration of a launch with attributes as the driver takes it.
#pragma once

#include "cudart/cuda_api.h"

namespace cudart {

inline CUlaunchConfig driver_config(const cudaLaunchConfig_t& config) {
    static_assert(sizeof(CUlaunchAttribute) == sizeof(cudaLaunchAttribute));
    CUlaunchConfig result{};
    result.gridDimX = config.gridDim.x;
    result.gridDimY = config.gridDim.y;
    result.gridDimZ = config.gridDim.z;
    result.blockDimX = config.blockDim.x;
    result.blockDimY = config.blockDim.y;
    result.blockDimZ = config.blockDim.z;
    result.sharedMemBytes = static_cast<unsigned>(config.dynamicSmemBytes);
    result.hStream = config.stream;
    result.attrs = reinterpret_cast<CUlaunchAttribute*>(config.attrs);
    result.numAttrs = config.numAttrs;
    return result;
}

}  // namespace cudart
