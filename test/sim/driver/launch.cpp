// Launching kernels: every form becomes one KernelWork.
#include <cstring>

#include "capture.h"
#include "engine/device_facts.h"
#include "entry.h"
#include "work.h"

using namespace gpusim;
using namespace gpusim::driver;

namespace {

struct Shape {
    unsigned grid[3];
    unsigned block[3];
    unsigned shared_bytes;
};

constexpr unsigned kMaxGrid[3] = {2147483647, 65535, 65535};
constexpr unsigned kMaxBlock[3] = {1024, 1024, 64};
constexpr unsigned kMaxThreads = 1024;

// All blocks of a cooperative launch must be on the device at once.
bool fits_at_once(const Shape& shape) {
    const uint64_t blocks = uint64_t{shape.grid[0]} * shape.grid[1] * shape.grid[2];
    const unsigned threads = shape.block[0] * shape.block[1] * shape.block[2];
    return blocks <= uint64_t{facts::kSmCount} * (2048 / threads);
}

// `extra` gives the parameters as one buffer; the work keeps pointers into it, as if they had been given
// singly.
CUresult parameters_of(const Function& function, void** single, void** extra, KernelWork& work,
                       std::vector<void*>& pointers) {
    if (single != nullptr && extra != nullptr) return CUDA_ERROR_INVALID_VALUE;
    work.parameters = single;
    const bool none_given = single == nullptr && extra == nullptr;
    if (none_given && !function.parameters.empty()) return CUDA_ERROR_INVALID_VALUE;
    if (extra == nullptr) return CUDA_SUCCESS;
    std::byte* buffer = nullptr;
    size_t size = 0;
    for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
            buffer = static_cast<std::byte*>(extra[1]);
        else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[1] != nullptr)
            size = *static_cast<size_t*>(extra[1]);
        else
            return CUDA_ERROR_INVALID_VALUE;
    }
    if (size < function.parameter_bytes() || (buffer == nullptr && size > 0)) return CUDA_ERROR_INVALID_VALUE;
    for (const Parameter& p : function.parameters) pointers.push_back(buffer + p.offset);
    work.parameters = pointers.data();
    return CUDA_SUCCESS;
}

CUevent event_of(const CUlaunchAttribute& attribute) {
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT)
        return attribute.value.programmaticEvent.event;
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT)
        return attribute.value.launchCompletionEvent.event;
    return nullptr;
}

CUresult apply(const CUlaunchAttribute& attribute, KernelWork& work) {
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_IGNORE) return CUDA_SUCCESS;
    if (attribute.id >= CU_LAUNCH_ATTRIBUTE_MAX) return CUDA_ERROR_INVALID_VALUE;
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) work.cooperative = attribute.value.cooperative != 0;
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
        const auto& c = attribute.value.clusterDim;
        if (c.x == 0 || c.y == 0 || c.z == 0 || c.x * c.y * c.z > 16) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
        if (work.grid[0] % c.x != 0 || work.grid[1] % c.y != 0 || work.grid[2] % c.z != 0)
            return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    }
    if (event_of(attribute) != nullptr && events().find(event_of(attribute)) == nullptr)
        return CUDA_ERROR_INVALID_HANDLE;
    work.attributes.push_back(attribute);
    return CUDA_SUCCESS;
}

// Events that a launch attribute asks to be recorded with the kernel: on the box, when it is over.
void record_attribute_events(const KernelWork& work, const Point& end) {
    for (const CUlaunchAttribute& attribute : work.attributes)
        if (Event* event = events().find(event_of(attribute))) {
            event->point = end;
            event->recorded = true;
            event->capture = nullptr;
        }
}

CUresult launch(CUfunction handle, const Shape& shape, CUstream stream_handle, void** single, void** extra,
                const CUlaunchAttribute* attributes = nullptr, unsigned attribute_count = 0,
                bool cooperative = false) {
    const auto held = engine::lock();
    Stream* stream = find_stream(stream_handle);
    if (stream == nullptr) return stream_error();
    Function* function = find_function(handle, *stream->context);
    if (function == nullptr || function->module->context != stream->context) return CUDA_ERROR_INVALID_HANDLE;
    KernelWork work;
    work.function = function;
    work.kernel = kernels().find(handle);
    std::memcpy(work.grid, shape.grid, sizeof work.grid);
    std::memcpy(work.block, shape.block, sizeof work.block);
    work.shared_bytes = shape.shared_bytes;
    RETURN_IF_FAILED(check_shape(work));
    work.cooperative = cooperative;
    std::vector<void*> pointers;
    RETURN_IF_FAILED(parameters_of(*function, single, extra, work, pointers));
    for (unsigned i = 0; i < attribute_count; ++i) RETURN_IF_FAILED(apply(attributes[i], work));
    if (work.cooperative && !fits_at_once(shape)) return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
    if (attribute_count == 0) return submit(*stream, std::move(work));
    const KernelWork described = work;
    Point end;
    RETURN_IF_FAILED(submit(*stream, std::move(work), &end));
    if (stream->capture == nullptr) record_attribute_events(described, end);
    return CUDA_SUCCESS;
}

}  // namespace

CUresult gpusim::driver::check_shape(const KernelWork& work) {
    uint64_t threads = 1;
    for (int i = 0; i < 3; ++i) {
        if (work.grid[i] == 0 || work.grid[i] > kMaxGrid[i]) return CUDA_ERROR_INVALID_VALUE;
        if (work.block[i] == 0 || work.block[i] > kMaxBlock[i]) return CUDA_ERROR_INVALID_VALUE;
        threads *= work.block[i];
    }
    if (threads > kMaxThreads) return CUDA_ERROR_INVALID_VALUE;
    const int most = work.function->attributes[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES];
    return work.shared_bytes > static_cast<unsigned>(most) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

API(cuLaunchKernel)
(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
 unsigned block_z, unsigned shared_bytes, CUstream stream, void** parameters, void** extra) {
    const Shape shape{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes};
    return launch(function, shape, stream, parameters, extra);
}

API(cuLaunchCooperativeKernel)
(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
 unsigned block_z, unsigned shared_bytes, CUstream stream, void** parameters) {
    const Shape shape{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes};
    return launch(function, shape, stream, parameters, nullptr, nullptr, 0, true);
}

API(cuLaunchKernelEx)(const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra) {
    if (config == nullptr || (config->numAttrs > 0 && config->attrs == nullptr))
        return CUDA_ERROR_INVALID_VALUE;
    const Shape shape{{config->gridDimX, config->gridDimY, config->gridDimZ},
                      {config->blockDimX, config->blockDimY, config->blockDimZ},
                      config->sharedMemBytes};
    return launch(function, shape, config->hStream, parameters, extra, config->attrs, config->numAttrs);
}

// The first form of launching: the function holds block, shared memory and parameters between calls.
namespace {

CUresult about(CUfunction handle, auto answer) {
    const auto held = engine::lock();
    Context* context = current_context();
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    Function* function = find_function(handle, *context);
    return function != nullptr ? answer(*function) : CUDA_ERROR_INVALID_HANDLE;
}

CUresult put_parameter(CUfunction handle, int offset, const void* value, size_t bytes) {
    if (offset < 0 || value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return about(handle, [=](Function& function) {
        auto& all = function.legacy_parameters;
        const auto at = static_cast<size_t>(offset);
        if (all.size() < at + bytes) all.resize(at + bytes);
        std::memcpy(all.data() + at, value, bytes);
        return CUDA_SUCCESS;
    });
}

CUresult launch_grid(CUfunction handle, int width, int height, CUstream stream) {
    if (width <= 0 || height <= 0) return CUDA_ERROR_INVALID_VALUE;
    Shape shape{{static_cast<unsigned>(width), static_cast<unsigned>(height), 1}, {1, 1, 1}, 0};
    std::vector<std::byte> parameters;
    RETURN_IF_FAILED(about(handle, [&](Function& function) {
        std::memcpy(shape.block, function.legacy_block, sizeof shape.block);
        shape.shared_bytes = function.legacy_shared;
        parameters = function.legacy_parameters;
        return CUDA_SUCCESS;
    }));
    size_t size = parameters.size();
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, parameters.data(), CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    return launch(handle, shape, stream, nullptr, extra);
}

}  // namespace

API(cuFuncSetBlockShape)(CUfunction handle, int x, int y, int z) {
    if (x <= 0 || y <= 0 || z <= 0) return CUDA_ERROR_INVALID_VALUE;
    return about(handle, [=](Function& function) {
        const unsigned shape[3] = {static_cast<unsigned>(x), static_cast<unsigned>(y),
                                   static_cast<unsigned>(z)};
        std::memcpy(function.legacy_block, shape, sizeof shape);
        return CUDA_SUCCESS;
    });
}
API(cuFuncSetSharedSize)(CUfunction handle, unsigned bytes) {
    return about(handle, [=](Function& function) {
        function.legacy_shared = bytes;
        return CUDA_SUCCESS;
    });
}
API(cuParamSetSize)(CUfunction handle, unsigned bytes) {
    return about(handle, [=](Function& function) {
        function.legacy_parameters.resize(bytes);
        return CUDA_SUCCESS;
    });
}
API(cuParamSeti)(CUfunction handle, int offset, unsigned value) {
    return put_parameter(handle, offset, &value, sizeof value);
}
API(cuParamSetf)(CUfunction handle, int offset, float value) {
    return put_parameter(handle, offset, &value, sizeof value);
}
API(cuParamSetv)(CUfunction handle, int offset, void* value, unsigned bytes) {
    return put_parameter(handle, offset, value, bytes);
}
API(cuLaunch)(CUfunction handle) { return launch_grid(handle, 1, 1, nullptr); }
API(cuLaunchGrid)(CUfunction handle, int width, int height) {
    return launch_grid(handle, width, height, nullptr);
}
API(cuLaunchGridAsync)(CUfunction handle, int width, int height, CUstream stream) {
    return launch_grid(handle, width, height, stream);
}
