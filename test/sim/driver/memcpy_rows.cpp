// The copy forms that are described by a structure: 2D and 3D, in both versions, and between contexts.
#include "copy.h"
#include "copy_shape.h"

using namespace gpusim;
using namespace gpusim::driver;

namespace {

template <class Given>
CUresult rows(const Given* given, CopyForm form, CUstream stream = nullptr) {
    return given == nullptr ? CUDA_ERROR_INVALID_VALUE : copy(widened(*given), form, stream);
}

// Both contexts must be alive; which device an address belongs to, its allocation tells. A peer copy needs no
// peer access to be enabled.
CUresult between_contexts(const CopyShape& shape, CUcontext to, CUcontext from, CopyForm form,
                          CUstream handle) {
    auto held = engine::lock();
    if (contexts().find(to) == nullptr || contexts().find(from) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    Stream* stream = find_stream(handle);
    return stream == nullptr ? stream_error() : copy_on(*stream, shape, form, held);
}

CUresult rows_between_contexts(const CUDA_MEMCPY3D_PEER* given, CopyForm form, CUstream handle = nullptr) {
    if (given == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return between_contexts(*given, given->dstContext, given->srcContext, form, handle);
}

}  // namespace

API(cuMemcpy2D_v2)(const CUDA_MEMCPY2D* given) { return rows(given, CopyForm::synchronous); }
API(cuMemcpy2D)(const CUDA_MEMCPY2D_v1* given) { return rows(given, CopyForm::synchronous); }
API(cuMemcpy2DUnaligned_v2)(const CUDA_MEMCPY2D* given) { return rows(given, CopyForm::synchronous); }
API(cuMemcpy2DUnaligned)(const CUDA_MEMCPY2D_v1* given) { return rows(given, CopyForm::synchronous); }
API(cuMemcpy2DAsync_v2)(const CUDA_MEMCPY2D* given, CUstream stream) {
    return rows(given, CopyForm::asynchronous, stream);
}
API(cuMemcpy2DAsync)(const CUDA_MEMCPY2D_v1* given, CUstream stream) {
    return rows(given, CopyForm::asynchronous, stream);
}

API(cuMemcpy3D_v2)(const CUDA_MEMCPY3D* given) { return rows(given, CopyForm::synchronous); }
API(cuMemcpy3D)(const CUDA_MEMCPY3D_v1* given) { return rows(given, CopyForm::synchronous); }
API(cuMemcpy3DAsync_v2)(const CUDA_MEMCPY3D* given, CUstream stream) {
    return rows(given, CopyForm::asynchronous, stream);
}
API(cuMemcpy3DAsync)(const CUDA_MEMCPY3D_v1* given, CUstream stream) {
    return rows(given, CopyForm::asynchronous, stream);
}

API(cuMemcpyPeer)
(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes) {
    return between_contexts(flat(on_device(to), on_device(from), bytes), to_context, from_context,
                            CopyForm::synchronous, nullptr);
}
API(cuMemcpyPeerAsync)
(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes,
 CUstream stream) {
    return between_contexts(flat(on_device(to), on_device(from), bytes), to_context, from_context,
                            CopyForm::asynchronous, stream);
}
API(cuMemcpy3DPeer)(const CUDA_MEMCPY3D_PEER* given) {
    return rows_between_contexts(given, CopyForm::synchronous);
}
API(cuMemcpy3DPeerAsync)(const CUDA_MEMCPY3D_PEER* given, CUstream stream) {
    return rows_between_contexts(given, CopyForm::asynchronous, stream);
}
