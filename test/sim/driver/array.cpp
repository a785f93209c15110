#include "array.h"

#include <algorithm>
#include <vector>

#include "memory.h"
#include "work.h"

namespace gpusim::driver {
namespace {

struct Mipmapped {
    Context* context = nullptr;
    std::vector<Array*> levels;
};

Registry<Mipmapped>& mipmapped_arrays() {
    static auto* const made = new Registry<Mipmapped>;
    return *made;
}

// 0: a format that the box does not have.
size_t channel_bytes(CUarray_format format) {
    switch (format) {
        case CU_AD_FORMAT_UNSIGNED_INT8:
        case CU_AD_FORMAT_SIGNED_INT8:
            return 1;
        case CU_AD_FORMAT_UNSIGNED_INT16:
        case CU_AD_FORMAT_SIGNED_INT16:
        case CU_AD_FORMAT_HALF:
            return 2;
        case CU_AD_FORMAT_UNSIGNED_INT32:
        case CU_AD_FORMAT_SIGNED_INT32:
        case CU_AD_FORMAT_FLOAT:
            return 4;
        default:
            return 0;
    }
}

}  // namespace

size_t Array::element_bytes() const { return descriptor.NumChannels * channel_bytes(descriptor.Format); }

Registry<Array>& arrays() {
    static auto* const made = new Registry<Array>;
    return *made;
}

void release_arrays(Context& context) {
    const auto destroy_all = [&context](auto& registry) {
        const auto all = registry.all();
        for (auto* object : all)
            if (object->context == &context) registry.destroy(object);
    };
    destroy_all(mipmapped_arrays());
    destroy_all(arrays());
}

}  // namespace gpusim::driver

using namespace gpusim;
using namespace gpusim::driver;

namespace {

constexpr unsigned kArrayFlags = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_CUBEMAP |
                                 CUDA_ARRAY3D_TEXTURE_GATHER | CUDA_ARRAY3D_DEPTH_TEXTURE |
                                 CUDA_ARRAY3D_COLOR_ATTACHMENT;

// All descriptors in the widest form.
template <class Descriptor>
CUDA_ARRAY3D_DESCRIPTOR in_widest_form(const Descriptor& d) {
    CUDA_ARRAY3D_DESCRIPTOR wide{};
    wide.Width = d.Width, wide.Height = d.Height;
    wide.Format = d.Format, wide.NumChannels = d.NumChannels;
    if constexpr (requires { d.Depth; }) wide.Depth = d.Depth, wide.Flags = d.Flags;
    return wide;
}

CUresult check(const CUDA_ARRAY3D_DESCRIPTOR& d) {
    const bool channels_fit = d.NumChannels == 1 || d.NumChannels == 2 || d.NumChannels == 4;
    const bool layered = (d.Flags & CUDA_ARRAY3D_LAYERED) != 0;
    if (d.Width == 0 || !channels_fit) return CUDA_ERROR_INVALID_VALUE;
    if ((d.Flags & ~kArrayFlags) != 0 || channel_bytes(d.Format) == 0) return CUDA_ERROR_NOT_SUPPORTED;
    if (d.Depth > 0 && d.Height == 0 && !layered) return CUDA_ERROR_INVALID_VALUE;
    if ((d.Flags & CUDA_ARRAY3D_CUBEMAP) != 0 && (d.Width != d.Height || d.Depth == 0 || d.Depth % 6 != 0))
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

CUresult make(Context& context, const CUDA_ARRAY3D_DESCRIPTOR& descriptor, Array** result) {
    Array described;
    described.context = &context;
    described.descriptor = descriptor;
    described.base = allocate_device_memory(context, described.size_bytes());
    if (described.base == 0) return CUDA_ERROR_OUT_OF_MEMORY;
    *result = arrays().make(described);
    return CUDA_SUCCESS;
}

template <class Descriptor>
CUresult create(CUarray* handle, const Descriptor* asked) {
    if (handle == nullptr || asked == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const CUDA_ARRAY3D_DESCRIPTOR descriptor = in_widest_form(*asked);
    RETURN_IF_FAILED(check(descriptor));
    const auto held = engine::lock();
    Context* context = current_context();
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    Array* array = nullptr;
    RETURN_IF_FAILED(make(*context, descriptor, &array));
    *handle = reinterpret_cast<CUarray>(array);
    return CUDA_SUCCESS;
}

void destroy(Array* array) {
    free_device_memory(array->base);
    arrays().destroy(array);
}

template <class T>
void assign(T& to, size_t value) {
    to = static_cast<T>(value);
}

template <class Descriptor>
CUresult describe(Descriptor* result, CUarray handle) {
    if (result == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    const Array* array = arrays().find(handle);
    if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    const auto& d = array->descriptor;
    assign(result->Width, d.Width), assign(result->Height, d.Height);
    result->Format = d.Format, result->NumChannels = d.NumChannels;
    if constexpr (requires { result->Depth; }) assign(result->Depth, d.Depth), result->Flags = d.Flags;
    return CUDA_SUCCESS;
}

CUDA_ARRAY3D_DESCRIPTOR level_descriptor(CUDA_ARRAY3D_DESCRIPTOR d, unsigned level) {
    const auto halved = [level](size_t extent) {
        return extent == 0 ? 0 : std::max<size_t>(1, extent >> level);
    };
    d.Width = halved(d.Width), d.Height = halved(d.Height);
    if ((d.Flags & CUDA_ARRAY3D_LAYERED) == 0 && (d.Flags & CUDA_ARRAY3D_CUBEMAP) == 0)
        d.Depth = halved(d.Depth);
    return d;
}

unsigned most_levels(const CUDA_ARRAY3D_DESCRIPTOR& d) {
    unsigned levels = 1;
    for (size_t extent = std::max({d.Width, d.Height, d.Depth}); extent > 1; extent >>= 1) ++levels;
    return levels;
}

void destroy(Mipmapped* mipmapped) {
    for (Array* level : mipmapped->levels) destroy(level);
    mipmapped_arrays().destroy(mipmapped);
}

CUresult requirements(CUDA_ARRAY_MEMORY_REQUIREMENTS* result, size_t size_bytes, CUdevice ordinal) {
    if (result == nullptr || device(ordinal) == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *result = {};
    result->size = allocation_bytes(size_bytes);
    result->alignment = kAllocationGrain;
    return CUDA_SUCCESS;
}

}  // namespace

API(cuArrayCreate_v2)(CUarray* handle, const CUDA_ARRAY_DESCRIPTOR* d) { return create(handle, d); }
API(cuArrayCreate)(CUarray* handle, const CUDA_ARRAY_DESCRIPTOR_v1* d) { return create(handle, d); }
API(cuArray3DCreate_v2)(CUarray* handle, const CUDA_ARRAY3D_DESCRIPTOR* d) { return create(handle, d); }
API(cuArray3DCreate)(CUarray* handle, const CUDA_ARRAY3D_DESCRIPTOR_v1* d) { return create(handle, d); }

API(cuArrayGetDescriptor_v2)(CUDA_ARRAY_DESCRIPTOR* d, CUarray handle) { return describe(d, handle); }
API(cuArrayGetDescriptor)(CUDA_ARRAY_DESCRIPTOR_v1* d, CUarray handle) { return describe(d, handle); }
API(cuArray3DGetDescriptor_v2)(CUDA_ARRAY3D_DESCRIPTOR* d, CUarray handle) { return describe(d, handle); }
API(cuArray3DGetDescriptor)(CUDA_ARRAY3D_DESCRIPTOR_v1* d, CUarray handle) { return describe(d, handle); }

API(cuArrayDestroy)(CUarray handle) {
    auto held = engine::lock();
    const Array* array = arrays().find(handle);
    if (array == nullptr || array->is_level) return CUDA_ERROR_INVALID_HANDLE;
    wait_for_users(*find_range(array->base), held);
    Array* still = arrays().find(handle);
    if (still == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    destroy(still);
    return CUDA_SUCCESS;
}

API(cuArrayGetMemoryRequirements)(CUDA_ARRAY_MEMORY_REQUIREMENTS* result, CUarray handle, CUdevice ordinal) {
    const auto held = engine::lock();
    const Array* array = arrays().find(handle);
    if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    return requirements(result, array->size_bytes(), ordinal);
}

API(cuMipmappedArrayCreate)
(CUmipmappedArray* handle, const CUDA_ARRAY3D_DESCRIPTOR* asked, unsigned level_count) {
    if (handle == nullptr || asked == nullptr || level_count == 0) return CUDA_ERROR_INVALID_VALUE;
    RETURN_IF_FAILED(check(*asked));
    const auto held = engine::lock();
    Context* context = current_context();
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    Mipmapped* made = mipmapped_arrays().make();
    made->context = context;
    for (unsigned level = 0; level < std::min(level_count, most_levels(*asked)); ++level) {
        Array* array = nullptr;
        if (const CUresult result = make(*context, level_descriptor(*asked, level), &array);
            result != CUDA_SUCCESS) {
            destroy(made);
            return result;
        }
        array->is_level = true;
        made->levels.push_back(array);
    }
    *handle = reinterpret_cast<CUmipmappedArray>(made);
    return CUDA_SUCCESS;
}

API(cuMipmappedArrayGetLevel)(CUarray* level_array, CUmipmappedArray handle, unsigned level) {
    const auto held = engine::lock();
    const Mipmapped* mipmapped = mipmapped_arrays().find(handle);
    if (mipmapped == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (level_array == nullptr || level >= mipmapped->levels.size()) return CUDA_ERROR_INVALID_VALUE;
    *level_array = reinterpret_cast<CUarray>(mipmapped->levels[level]);
    return CUDA_SUCCESS;
}

API(cuMipmappedArrayDestroy)(CUmipmappedArray handle) {
    auto held = engine::lock();
    const Mipmapped* mipmapped = mipmapped_arrays().find(handle);
    if (mipmapped == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    wait_for_users(*find_range(mipmapped->levels.front()->base), held);
    Mipmapped* still = mipmapped_arrays().find(handle);
    if (still == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    destroy(still);
    return CUDA_SUCCESS;
}
