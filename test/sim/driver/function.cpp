// What can be asked of a function, and how much of it fits on a multiprocessor.
#include <algorithm>
#include <csignal>

#include "engine/device_facts.h"
#include "engine/knobs.h"
#include "entry.h"
#include "objects.h"

using namespace gpusim;
using namespace gpusim::driver;

namespace {

constexpr int kMaxThreadsPerSm = 2048, kMaxBlocksPerSm = 32, kSharedPerSm = 233472,
              kMostDynamicShared = 232448;

// CUkernel handles are accepted wherever a CUfunction is.
template <class Answer>
CUresult about(CUfunction handle, const void* argument, Answer answer) {
    if (argument == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    Context* context = current_context();
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    Function* function = find_function(handle, *context);
    return function != nullptr ? answer(*function) : CUDA_ERROR_INVALID_HANDLE;
}

bool settable(CUfunction_attribute attribute) {
    return attribute >= CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES && attribute < CU_FUNC_ATTRIBUTE_MAX;
}

int blocks_per_sm(int threads, size_t shared_bytes) {
    const int by_threads = kMaxThreadsPerSm / std::max((threads + 31) / 32 * 32, 32);
    const int by_shared =
        shared_bytes == 0 ? kMaxBlocksPerSm : static_cast<int>(kSharedPerSm / (shared_bytes + 1024));
    return std::min({by_threads, by_shared, kMaxBlocksPerSm});
}

}  // namespace

API(cuFuncGetAttribute)(int* value, CUfunction_attribute attribute, CUfunction handle) {
    if (attribute < 0 || attribute >= CU_FUNC_ATTRIBUTE_MAX) return CUDA_ERROR_INVALID_VALUE;
    return about(handle, value, [=](Function& function) {
        *value = function.attributes[attribute];
        return CUDA_SUCCESS;
    });
}
API(cuFuncSetAttribute)(CUfunction handle, CUfunction_attribute attribute, int value) {
    if (!settable(attribute)) return CUDA_ERROR_INVALID_VALUE;
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES &&
        (value < 0 || value > kMostDynamicShared))
        return CUDA_ERROR_INVALID_VALUE;
    return about(handle, &value, [=](Function& function) {
        function.attributes[attribute] = value;
        return CUDA_SUCCESS;
    });
}
API(cuFuncSetCacheConfig)(CUfunction handle, CUfunc_cache) {
    return about(handle, handle, [](Function&) { return CUDA_SUCCESS; });
}
API(cuFuncSetSharedMemConfig)(CUfunction handle, CUsharedconfig) {
    return about(handle, handle, [](Function&) { return CUDA_SUCCESS; });
}
API(cuFuncGetModule)(CUmodule* result, CUfunction handle) {
    return about(handle, result, [=](Function& function) {
        *result = reinterpret_cast<CUmodule>(function.module);
        return CUDA_SUCCESS;
    });
}
API(cuFuncGetName)(const char** name, CUfunction handle) {
    // As drivers before 13.0: what is no function is read as one.
    if (knobs().version < 13000 && functions().find(handle) == nullptr) std::raise(SIGSEGV);
    return about(handle, name, [=](Function& function) {
        *name = function.name;
        return CUDA_SUCCESS;
    });
}
API(cuFuncGetParamInfo)(CUfunction handle, size_t index, size_t* offset, size_t* size) {
    return about(handle, offset, [=](Function& function) {
        if (index >= function.parameters.size()) return CUDA_ERROR_INVALID_VALUE;
        *offset = function.parameters[index].offset;
        if (size != nullptr) *size = function.parameters[index].size;
        return CUDA_SUCCESS;
    });
}
API(cuFuncLoad)(CUfunction handle) {
    return about(handle, handle, [](Function&) { return CUDA_SUCCESS; });
}

API(cuOccupancyMaxActiveBlocksPerMultiprocessor)
(int* blocks, CUfunction handle, int threads, size_t shared_bytes) {
    if (threads <= 0) return CUDA_ERROR_INVALID_VALUE;
    return about(handle, blocks, [=](Function&) {
        *blocks = blocks_per_sm(threads, shared_bytes);
        return CUDA_SUCCESS;
    });
}
API(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)
(int* blocks, CUfunction handle, int threads, size_t shared_bytes, unsigned) {
    return sim_cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, handle, threads, shared_bytes);
}
API(cuOccupancyMaxPotentialBlockSize)
(int* grid, int* block, CUfunction handle, CUoccupancyB2DSize shared_of_block, size_t shared_bytes,
 int limit) {
    constexpr int kBest = 1024;
    const int threads = limit > 0 ? std::min(limit, kBest) : kBest;
    // The program's own function, called on its own thread in the middle of a driver call: no lock is held.
    const size_t shared = shared_of_block != nullptr ? shared_of_block(threads) : shared_bytes;
    if (block == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return about(handle, grid, [=](Function&) {
        *block = threads;
        *grid = blocks_per_sm(threads, shared) * facts::kSmCount;
        return CUDA_SUCCESS;
    });
}
API(cuOccupancyMaxPotentialBlockSizeWithFlags)
(int* grid, int* block, CUfunction handle, CUoccupancyB2DSize shared_of_block, size_t shared_bytes, int limit,
 unsigned) {
    return sim_cuOccupancyMaxPotentialBlockSize(grid, block, handle, shared_of_block, shared_bytes, limit);
}
API(cuOccupancyAvailableDynamicSMemPerBlock)(size_t* bytes, CUfunction handle, int blocks, int threads) {
    if (blocks <= 0 || threads <= 0) return CUDA_ERROR_INVALID_VALUE;
    return about(handle, bytes, [=](Function&) {
        *bytes = static_cast<size_t>(kSharedPerSm / blocks - 1024);
        return CUDA_SUCCESS;
    });
}
API(cuOccupancyMaxPotentialClusterSize)(int* size, CUfunction handle, const CUlaunchConfig*) {
    return about(handle, size, [=](Function&) {
        *size = 8;
        return CUDA_SUCCESS;
    });
}
API(cuOccupancyMaxActiveClusters)(int* clusters, CUfunction handle, const CUlaunchConfig* config) {
    if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return about(handle, clusters, [=](Function&) {
        *clusters = facts::kSmCount / 8;
        return CUDA_SUCCESS;
    });
}
