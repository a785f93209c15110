#include "cudart/boundary.h"

namespace cudart {
namespace {

// An attribute that this driver does not know leaves the member 0.
template <class Member>
void set(Member& member, CUdevice_attribute attribute, int device) {
    int value = 0;
    if (DRIVER(cuDeviceGetAttribute)(&value, attribute, device) == cudaSuccess)
        member = static_cast<Member>(value);
}

void set_attributes(cudaDeviceProp& properties, int device) {
#define PROPERTY(member, attribute) set(properties.member, CU_DEVICE_ATTRIBUTE_##attribute, device);
#include "cudart/device_properties.def"
#undef PROPERTY
}

cudaError_t device_properties(cudaDeviceProp* properties, int device) {
    if (properties == nullptr) return cudaErrorInvalidValue;
    *properties = {};
    cudaError_t error = DRIVER(cuDeviceGetName)(properties->name, sizeof properties->name, device);
    if (error == cudaSuccess) error = DRIVER(cuDeviceTotalMem_v2)(&properties->totalGlobalMem, device);
    if (error == cudaSuccess) error = DRIVER(cuDeviceGetUuid)(&properties->uuid, device);
    if (error == cudaSuccess) set_attributes(*properties, device);
    return error;
}

// The first device is as good as any: the box has one kind.
cudaError_t choose_matching_device(int* device, const cudaDeviceProp* properties) {
    if (device == nullptr || properties == nullptr) return cudaErrorInvalidValue;
    *device = 0;
    return cudaSuccess;
}

}  // namespace
}  // namespace cudart

using namespace cudart;

EXPORT_RUNTIME(cudaGetDeviceProperties, driver, device_properties)
EXPORT_RUNTIME(cudaChooseDevice, driver, choose_matching_device)
