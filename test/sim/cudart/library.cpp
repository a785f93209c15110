#include "cudart/boundary.h"
#include "cudart/registry.h"

namespace cudart {
namespace {

// Kernels handed out here may be launched by cudaLaunchKernel, which takes functions and handles alike.
cudaError_t kernel_of_library(cudaKernel_t* kernel, cudaLibrary_t library, const char* name) {
    const cudaError_t error = DRIVER(cuLibraryGetKernel)(kernel, library, name);
    if (error == cudaSuccess) add_kernel_handle(*kernel);
    return error;
}

cudaError_t enumerate_kernels(cudaKernel_t* kernels, unsigned count, cudaLibrary_t library) {
    const cudaError_t error = DRIVER(cuLibraryEnumerateKernels)(kernels, count, library);
    if (error != cudaSuccess) return error;
    for (unsigned i = 0; i < count; ++i) add_kernel_handle(kernels[i]);
    return cudaSuccess;
}

cudaError_t set_on_device(cudaKernel_t kernel, cudaFuncAttribute attribute, int value, int device) {
    return DRIVER(cuKernelSetAttribute)(static_cast<CUfunction_attribute>(attribute), value, kernel, device);
}

template <unsigned long long kDefaultFlags>
cudaError_t entry_point_by_version(const char* name, void** function, unsigned version,
                                   unsigned long long flags, cudaDriverEntryPointQueryResult* status) {
    if (name == nullptr || function == nullptr) return cudaErrorInvalidValue;
    if (flags == cudaEnableDefault) flags = kDefaultFlags;
    CUdriverProcAddressQueryResult found{};
    const cudaError_t error =
        DRIVER(cuGetProcAddress_v2)(name, function, static_cast<int>(version), flags, &found);
    if (status != nullptr) *status = static_cast<cudaDriverEntryPointQueryResult>(found);
    return error;
}

template <unsigned long long kDefaultFlags>
cudaError_t entry_point(const char* name, void** function, unsigned long long flags,
                        cudaDriverEntryPointQueryResult* status) {
    return entry_point_by_version<kDefaultFlags>(name, function, CUDART_VERSION, flags, status);
}

}  // namespace
}  // namespace cudart

using namespace cudart;

FORWARD(cudaLibraryLoadData, cuLibraryLoadData)
FORWARD(cudaLibraryLoadFromFile, cuLibraryLoadFromFile)
FORWARD(cudaLibraryUnload, cuLibraryUnload)
FORWARD(cudaLibraryGetGlobal, cuLibraryGetGlobal)
FORWARD(cudaLibraryGetManaged, cuLibraryGetManaged)
FORWARD(cudaLibraryGetUnifiedFunction, cuLibraryGetUnifiedFunction)
FORWARD(cudaLibraryGetKernelCount, cuLibraryGetKernelCount)
EXPORT_RUNTIME(cudaLibraryGetKernel, context, kernel_of_library)
EXPORT_RUNTIME(cudaLibraryEnumerateKernels, context, enumerate_kernels)
EXPORT_RUNTIME(cudaKernelSetAttributeForDevice, context, set_on_device)

EXPORT_RUNTIME(cudaGetDriverEntryPoint, driver, entry_point<cudaEnableLegacyStream>)
EXPORT_RUNTIME(cudaGetDriverEntryPoint_ptsz, driver, entry_point<cudaEnablePerThreadDefaultStream>)
EXPORT_RUNTIME(cudaGetDriverEntryPointByVersion, driver, entry_point_by_version<cudaEnableLegacyStream>)
EXPORT_RUNTIME(cudaGetDriverEntryPointByVersion_ptsz, driver,
               entry_point_by_version<cudaEnablePerThreadDefaultStream>)
