#include <vector>

#include "cudart/boundary.h"
#include "cudart/launch_config.h"
#include "cudart/registry.h"

namespace cudart {
namespace {

// What the driver finds wrong with a launch of a kernel that exists is, to the runtime, its configuration.
cudaError_t as_configuration(cudaError_t error) {
    return error == cudaErrorInvalidValue ? cudaErrorInvalidConfiguration : error;
}

template <DefaultStream kMode>
cudaError_t launch_handle(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                          std::size_t shared_bytes, cudaStream_t stream) {
    return as_configuration(DRIVER_PTSZ(cuLaunchKernel)(as_function(kernel), grid.x, grid.y, grid.z, block.x,
                                                        block.y, block.z, static_cast<unsigned>(shared_bytes),
                                                        stream, arguments, nullptr));
}

template <DefaultStream kMode>
cudaError_t launch_kernel(const void* function, dim3 grid, dim3 block, void** arguments,
                          std::size_t shared_bytes, cudaStream_t stream) {
    CUkernel kernel = nullptr;
    const cudaError_t error = find_kernel(function, kernel);
    if (error != cudaSuccess) return error;
    return launch_handle<kMode>(kernel, grid, block, arguments, shared_bytes, stream);
}

template <DefaultStream kMode>
cudaError_t launch_cooperative(const void* function, dim3 grid, dim3 block, void** arguments,
                               std::size_t shared_bytes, cudaStream_t stream) {
    CUkernel kernel = nullptr;
    const cudaError_t error = find_kernel(function, kernel);
    if (error != cudaSuccess) return error;
    return as_configuration(DRIVER_PTSZ(cuLaunchCooperativeKernel)(
        as_function(kernel), grid.x, grid.y, grid.z, block.x, block.y, block.z,
        static_cast<unsigned>(shared_bytes), stream, arguments));
}

template <DefaultStream kMode>
cudaError_t launch_ex(const cudaLaunchConfig_t* config, const void* function, void** arguments) {
    if (config == nullptr) return cudaErrorInvalidConfiguration;
    CUkernel kernel = nullptr;
    const cudaError_t error = find_kernel(function, kernel);
    if (error != cudaSuccess) return error;
    const CUlaunchConfig for_driver = driver_config(*config);
    return as_configuration(
        DRIVER_PTSZ(cuLaunchKernelEx)(&for_driver, as_function(kernel), arguments, nullptr));
}

cudaError_t get_kernel(cudaKernel_t* kernel, const void* function) {
    return kernel == nullptr ? cudaErrorInvalidValue : find_kernel(function, *kernel);
}

cudaError_t get_function(cudaFunction_t* function, const void* symbol) {
    CUkernel kernel = nullptr;
    const cudaError_t error = find_kernel(symbol, kernel);
    return error == cudaSuccess ? DRIVER(cuKernelGetFunction)(function, kernel) : error;
}

struct CallConfiguration {
    dim3 grid, block;
    std::size_t shared_bytes;
    cudaStream_t stream;
};
thread_local std::vector<CallConfiguration> call_configurations;

unsigned push_call_configuration(dim3 grid, dim3 block, std::size_t shared_bytes, cudaStream_t stream) {
    call_configurations.push_back({grid, block, shared_bytes, stream});
    return 0;
}

cudaError_t pop_call_configuration(dim3* grid, dim3* block, std::size_t* shared_bytes, void* stream) {
    if (call_configurations.empty()) return cudaErrorMissingConfiguration;
    const CallConfiguration last = call_configurations.back();
    call_configurations.pop_back();
    *grid = last.grid;
    *block = last.block;
    *shared_bytes = last.shared_bytes;
    *static_cast<cudaStream_t*>(stream) = last.stream;
    return cudaSuccess;
}

}  // namespace
}  // namespace cudart

using namespace cudart;

// Called by the code that nvcc generates for <<<…>>>; no header for a host compiler declares them.
extern "C" {
unsigned __cudaPushCallConfiguration(dim3, dim3, std::size_t, cudaStream_t);
cudaError_t __cudaPopCallConfiguration(dim3*, dim3*, std::size_t*, void*);
cudaError_t __cudaGetKernel(cudaKernel_t*, const void*);
cudaError_t __cudaLaunchKernel(cudaKernel_t, dim3, dim3, void**, std::size_t, cudaStream_t);
cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t, dim3, dim3, void**, std::size_t, cudaStream_t);
}

CUDART_NAME(__cudaPushCallConfiguration, push_call_configuration)
EXPORT_RUNTIME(__cudaPopCallConfiguration, nothing, pop_call_configuration)
EXPORT_RUNTIME(__cudaGetKernel, context, get_kernel)
EXPORT_RUNTIME(__cudaLaunchKernel, context, launch_handle<kLegacy>)
EXPORT_RUNTIME(__cudaLaunchKernel_ptsz, context, launch_handle<kPerThread>)
EXPORT_RUNTIME(cudaGetKernel, context, get_kernel)
EXPORT_RUNTIME(cudaGetFuncBySymbol, context, get_function)
EXPORT_STREAM(cudaLaunchKernel, launch_kernel)
EXPORT_STREAM(cudaLaunchCooperativeKernel, launch_cooperative)
EXPORT_STREAM(cudaLaunchKernelExC, launch_ex)
