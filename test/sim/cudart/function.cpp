#include "cudart/boundary.h"
#include "cudart/launch_config.h"
#include "cudart/registry.h"

namespace cudart {
namespace {

// Calls use(kernel) for the kernel behind a symbol.
template <class Use>
cudaError_t with_kernel(const void* symbol, Use use) {
    CUkernel kernel = nullptr;
    const cudaError_t error = find_kernel(symbol, kernel);
    return error == cudaSuccess ? use(kernel) : error;
}

template <class Member>
void set(Member& member, CUfunction_attribute attribute, CUkernel kernel) {
    int value = 0;
    const cudaError_t error = DRIVER(cuKernelGetAttribute)(&value, attribute, kernel, chosen_device());
    if (error == cudaSuccess) member = static_cast<Member>(value);
}

cudaError_t set_attributes(cudaFuncAttributes& result, CUkernel kernel) {
    result = {};
    set(result.sharedSizeBytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, kernel);
    set(result.constSizeBytes, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, kernel);
    set(result.localSizeBytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, kernel);
    set(result.maxThreadsPerBlock, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel);
    set(result.numRegs, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel);
    set(result.ptxVersion, CU_FUNC_ATTRIBUTE_PTX_VERSION, kernel);
    set(result.binaryVersion, CU_FUNC_ATTRIBUTE_BINARY_VERSION, kernel);
    set(result.cacheModeCA, CU_FUNC_ATTRIBUTE_CACHE_MODE_CA, kernel);
    set(result.maxDynamicSharedSizeBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel);
    set(result.preferredShmemCarveout, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, kernel);
    set(result.clusterDimMustBeSet, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, kernel);
    return cudaSuccess;
}

cudaError_t get_attributes(cudaFuncAttributes* result, const void* symbol) {
    if (result == nullptr) return cudaErrorInvalidValue;
    return with_kernel(symbol, [=](CUkernel kernel) { return set_attributes(*result, kernel); });
}

cudaError_t set_attribute(const void* symbol, cudaFuncAttribute attribute, int value) {
    const auto which = static_cast<CUfunction_attribute>(attribute);
    return with_kernel(symbol, [=](CUkernel kernel) {
        return DRIVER(cuKernelSetAttribute)(which, value, kernel, chosen_device());
    });
}

cudaError_t set_cache_config(const void* symbol, cudaFuncCache config) {
    return with_kernel(symbol, [=](CUkernel kernel) {
        return DRIVER(cuKernelSetCacheConfig)(kernel, static_cast<CUfunc_cache>(config), chosen_device());
    });
}

cudaError_t get_name(const char** name, const void* symbol) {
    return with_kernel(symbol, [=](CUkernel kernel) { return DRIVER(cuKernelGetName)(name, kernel); });
}

cudaError_t get_parameter(const void* symbol, std::size_t index, std::size_t* offset,
                          std::size_t* size_bytes) {
    return with_kernel(symbol, [=](CUkernel kernel) {
        return DRIVER(cuKernelGetParamInfo)(kernel, index, offset, size_bytes);
    });
}

cudaError_t active_blocks_with_flags(int* blocks, const void* symbol, int block_size,
                                     std::size_t shared_bytes, unsigned flags) {
    return with_kernel(symbol, [=](CUkernel kernel) {
        return DRIVER(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)(blocks, as_function(kernel),
                                                                            block_size, shared_bytes, flags);
    });
}

cudaError_t active_blocks(int* blocks, const void* symbol, int block_size, std::size_t shared_bytes) {
    return active_blocks_with_flags(blocks, symbol, block_size, shared_bytes, CU_OCCUPANCY_DEFAULT);
}

cudaError_t available_shared_bytes(std::size_t* bytes, const void* symbol, int blocks, int block_size) {
    return with_kernel(symbol, [=](CUkernel kernel) {
        return DRIVER(cuOccupancyAvailableDynamicSMemPerBlock)(bytes, as_function(kernel), blocks,
                                                               block_size);
    });
}

cudaError_t set_shared_config(const void* symbol, cudaSharedMemConfig config) {
    return with_kernel(symbol, [=](CUkernel kernel) {
        return DRIVER(cuFuncSetSharedMemConfig)(as_function(kernel), static_cast<CUsharedconfig>(config));
    });
}

cudaError_t largest_cluster(int* size, const void* symbol, const cudaLaunchConfig_t* config) {
    if (config == nullptr) return cudaErrorInvalidValue;
    return with_kernel(symbol, [=, for_driver = driver_config(*config)](CUkernel kernel) {
        return DRIVER(cuOccupancyMaxPotentialClusterSize)(size, as_function(kernel), &for_driver);
    });
}

cudaError_t active_clusters(int* count, const void* symbol, const cudaLaunchConfig_t* config) {
    if (config == nullptr) return cudaErrorInvalidValue;
    return with_kernel(symbol, [=, for_driver = driver_config(*config)](CUkernel kernel) {
        return DRIVER(cuOccupancyMaxActiveClusters)(count, as_function(kernel), &for_driver);
    });
}

}  // namespace
}  // namespace cudart

using namespace cudart;

EXPORT_RUNTIME(cudaFuncGetAttributes, context, get_attributes)
EXPORT_RUNTIME(cudaFuncSetAttribute, context, set_attribute)
EXPORT_RUNTIME(cudaFuncSetCacheConfig, context, set_cache_config)
EXPORT_RUNTIME(cudaFuncSetSharedMemConfig, context, set_shared_config)
EXPORT_RUNTIME(cudaFuncGetName, context, get_name)
EXPORT_RUNTIME(cudaFuncGetParamInfo, context, get_parameter)
EXPORT_RUNTIME(cudaOccupancyMaxActiveBlocksPerMultiprocessor, context, active_blocks)
EXPORT_RUNTIME(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, context, active_blocks_with_flags)
EXPORT_RUNTIME(cudaOccupancyAvailableDynamicSMemPerBlock, context, available_shared_bytes)
EXPORT_RUNTIME(cudaOccupancyMaxPotentialClusterSize, context, largest_cluster)
EXPORT_RUNTIME(cudaOccupancyMaxActiveClusters, context, active_clusters)
