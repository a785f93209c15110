// The copy forms between two addresses, and between an address and an offset in an array.
#include "copy.h"
#include "copy_shape.h"

using namespace gpusim::driver;

namespace {

constexpr auto kNow = CopyForm::synchronous;
constexpr auto kAsync = CopyForm::asynchronous;

}  // namespace

API(cuMemcpy)(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return copy(flat(unified(to), unified(from), bytes), kNow);
}
API(cuMemcpyAsync)(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return copy(flat(unified(to), unified(from), bytes), kAsync, stream);
}

API(cuMemcpyHtoD_v2)(CUdeviceptr to, const void* from, size_t bytes) {
    return copy(flat(on_device(to), host(from), bytes), kNow);
}
API(cuMemcpyHtoD)(CUdeviceptr_v1 to, const void* from, unsigned bytes) {
    return copy(flat(on_device(to), host(from), bytes), kNow);
}
API(cuMemcpyHtoDAsync_v2)(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
    return copy(flat(on_device(to), host(from), bytes), kAsync, stream);
}
API(cuMemcpyHtoDAsync)(CUdeviceptr_v1 to, const void* from, unsigned bytes, CUstream stream) {
    return copy(flat(on_device(to), host(from), bytes), kAsync, stream);
}

API(cuMemcpyDtoH_v2)(void* to, CUdeviceptr from, size_t bytes) {
    return copy(flat(host(to), on_device(from), bytes), kNow);
}
API(cuMemcpyDtoH)(void* to, CUdeviceptr_v1 from, unsigned bytes) {
    return copy(flat(host(to), on_device(from), bytes), kNow);
}
API(cuMemcpyDtoHAsync_v2)(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return copy(flat(host(to), on_device(from), bytes), kAsync, stream);
}
API(cuMemcpyDtoHAsync)(void* to, CUdeviceptr_v1 from, unsigned bytes, CUstream stream) {
    return copy(flat(host(to), on_device(from), bytes), kAsync, stream);
}

API(cuMemcpyDtoD_v2)(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return copy(flat(on_device(to), on_device(from), bytes), kNow);
}
API(cuMemcpyDtoD)(CUdeviceptr_v1 to, CUdeviceptr_v1 from, unsigned bytes) {
    return copy(flat(on_device(to), on_device(from), bytes), kNow);
}
API(cuMemcpyDtoDAsync_v2)(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return copy(flat(on_device(to), on_device(from), bytes), kAsync, stream);
}
API(cuMemcpyDtoDAsync)(CUdeviceptr_v1 to, CUdeviceptr_v1 from, unsigned bytes, CUstream stream) {
    return copy(flat(on_device(to), on_device(from), bytes), kAsync, stream);
}

API(cuMemcpyDtoA_v2)(CUarray to, size_t offset, CUdeviceptr from, size_t bytes) {
    return copy(flat(in_array(to, offset), on_device(from), bytes), kNow);
}
API(cuMemcpyDtoA)(CUarray to, unsigned offset, CUdeviceptr_v1 from, unsigned bytes) {
    return copy(flat(in_array(to, offset), on_device(from), bytes), kNow);
}
API(cuMemcpyAtoD_v2)(CUdeviceptr to, CUarray from, size_t offset, size_t bytes) {
    return copy(flat(on_device(to), in_array(from, offset), bytes), kNow);
}
API(cuMemcpyAtoD)(CUdeviceptr_v1 to, CUarray from, unsigned offset, unsigned bytes) {
    return copy(flat(on_device(to), in_array(from, offset), bytes), kNow);
}

API(cuMemcpyHtoA_v2)(CUarray to, size_t offset, const void* from, size_t bytes) {
    return copy(flat(in_array(to, offset), host(from), bytes), kNow);
}
API(cuMemcpyHtoA)(CUarray to, unsigned offset, const void* from, unsigned bytes) {
    return copy(flat(in_array(to, offset), host(from), bytes), kNow);
}
API(cuMemcpyHtoAAsync_v2)(CUarray to, size_t offset, const void* from, size_t bytes, CUstream stream) {
    return copy(flat(in_array(to, offset), host(from), bytes), kAsync, stream);
}
API(cuMemcpyHtoAAsync)(CUarray to, unsigned offset, const void* from, unsigned bytes, CUstream stream) {
    return copy(flat(in_array(to, offset), host(from), bytes), kAsync, stream);
}

API(cuMemcpyAtoH_v2)(void* to, CUarray from, size_t offset, size_t bytes) {
    return copy(flat(host(to), in_array(from, offset), bytes), kNow);
}
API(cuMemcpyAtoH)(void* to, CUarray from, unsigned offset, unsigned bytes) {
    return copy(flat(host(to), in_array(from, offset), bytes), kNow);
}
API(cuMemcpyAtoHAsync_v2)(void* to, CUarray from, size_t offset, size_t bytes, CUstream stream) {
    return copy(flat(host(to), in_array(from, offset), bytes), kAsync, stream);
}
API(cuMemcpyAtoHAsync)(void* to, CUarray from, unsigned offset, unsigned bytes, CUstream stream) {
    return copy(flat(host(to), in_array(from, offset), bytes), kAsync, stream);
}

API(cuMemcpyAtoA_v2)(CUarray to, size_t to_offset, CUarray from, size_t from_offset, size_t bytes) {
    return copy(flat(in_array(to, to_offset), in_array(from, from_offset), bytes), kNow);
}
API(cuMemcpyAtoA)(CUarray to, unsigned to_offset, CUarray from, unsigned from_offset, unsigned bytes) {
    return copy(flat(in_array(to, to_offset), in_array(from, from_offset), bytes), kNow);
}
