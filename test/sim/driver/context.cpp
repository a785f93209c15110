// Contexts: created ones, the devices' primary ones, and each thread's stack of current ones.
#include <cstring>
#include <utility>

#include "capture.h"
#include "cudart/own_table.h"
#include "engine/clock.h"
#include "entry.h"
#include "memory.h"
#include "objects.h"
#include "work.h"

namespace gpusim::driver {

Context* make_context(Device& device, unsigned flags, unsigned api_version) {
    static uint64_t last_id = 0;
    Context* context = contexts().make();
    context->device = &device;
    context->id = ++last_id;
    context->flags = flags;
    context->api_version = api_version;
    context->legacy = streams().make();
    context->legacy->context = context;
    context->legacy->id = next_stream_id();
    context->legacy->is_legacy = true;
    return context;
}

void destroy_context(Context& context, engine::Lock& held) {
    Point all = context_point(context);
    engine::wait(all, held);
    while (!context.streams.empty()) destroy_stream(**context.streams.begin());
    while (!context.modules.empty()) destroy_module(**context.modules.begin());
    forget_libraries(context);
    std::vector<Event*> mine;
    for (Event* event : events().all())
        if (event->context == &context) mine.push_back(event);
    for (Event* event : mine) events().destroy(event);
    for (Context* other : contexts().all()) other->peers.erase(&context);
    release_context_memory(context);
    if (context.fault->error != 0) --Fault::how_many;
    streams().destroy(context.legacy);
    contexts().destroy(&context);
}

}  // namespace gpusim::driver

using namespace gpusim;
using namespace gpusim::driver;

namespace {

CUresult set_current(CUcontext handle) {
    const auto held = engine::lock();
    auto& stack = context_stack();
    Context* context = contexts().find(handle);
    if (handle != nullptr && context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    if (!stack.empty()) stack.pop_back();
    if (context != nullptr) stack.push_back(*context);
    return CUDA_SUCCESS;
}

CUresult create(CUcontext* context, unsigned flags, CUdevice ordinal, unsigned api_version) {
    if (context == nullptr || (flags & ~static_cast<unsigned>(CU_CTX_FLAGS_MASK)) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    Device* on = device(ordinal);
    if (on == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    if (context_stack().full()) return CUDA_ERROR_OUT_OF_MEMORY;
    Context* made = make_context(*on, flags, api_version);
    context_stack().push_back(*made);
    *context = reinterpret_cast<CUcontext>(made);
    return CUDA_SUCCESS;
}

// Answers about the current context, or about a given one where the newer forms take it.
template <class Answer>
CUresult about(CUcontext handle, const void* result, Answer answer) {
    if (result == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    Context* context = handle == nullptr ? current_context() : contexts().find(handle);
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    return answer(*context);
}

template <class Answer>
CUresult about_current(const void* result, Answer answer) {
    return about(nullptr, result, answer);
}

CUresult synchronize(CUcontext handle) {
    auto held = engine::lock();
    Context* context = handle == nullptr ? current_context() : contexts().find(handle);
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    RETURN_IF_FAILED(capture::forbids_context_sync(*context));
    return wait_for(context_point(*context), *context, held);
}

}  // namespace

API(cuCtxCreate)(CUcontext* context, unsigned flags, CUdevice ordinal) {
    return create(context, flags, ordinal, 3010);
}
API(cuCtxCreate_v2)(CUcontext* context, unsigned flags, CUdevice ordinal) {
    return create(context, flags, ordinal, 3020);
}
API(cuCtxCreate_v3)
(CUcontext* context, CUexecAffinityParam* affinity, int count, unsigned flags, CUdevice ordinal) {
    if (affinity != nullptr && count > 0) return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
    return create(context, flags, ordinal, 3020);
}
API(cuCtxCreate_v4)(CUcontext* context, CUctxCreateParams* parameters, unsigned flags, CUdevice ordinal) {
    if (parameters != nullptr && parameters->cigParams != nullptr) return CUDA_ERROR_NOT_SUPPORTED;
    if (parameters != nullptr && parameters->numExecAffinityParams > 0)
        return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
    return create(context, flags, ordinal, 3020);
}

API(cuCtxDestroy_v2)(CUcontext handle) {
    auto held = engine::lock();
    Context* context = contexts().find(handle);
    if (context == nullptr || context->primary) return CUDA_ERROR_INVALID_CONTEXT;
    if (current_context() == context) context_stack().pop_back();
    destroy_context(*context, held);
    return CUDA_SUCCESS;
}
API(cuCtxDestroy)(CUcontext handle) { return sim_cuCtxDestroy_v2(handle); }

API(cuCtxAttach)(CUcontext* context, unsigned flags) {
    if (context == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    Context* current = current_context();
    if (current == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    ++current->users;
    *context = reinterpret_cast<CUcontext>(current);
    return CUDA_SUCCESS;
}
API(cuCtxDetach)(CUcontext handle) {
    {
        const auto held = engine::lock();
        Context* context = contexts().find(handle);
        if (context == nullptr || context != current_context()) return CUDA_ERROR_INVALID_CONTEXT;
        if (context->users > 1) {
            --context->users;
            return CUDA_SUCCESS;
        }
    }
    return sim_cuCtxDestroy_v2(handle);
}

API(cuCtxPushCurrent_v2)(CUcontext handle) {
    const auto held = engine::lock();
    Context* context = contexts().find(handle);
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    if (context_stack().full()) return CUDA_ERROR_OUT_OF_MEMORY;
    context_stack().push_back(*context);
    return CUDA_SUCCESS;
}
API(cuCtxPushCurrent)(CUcontext handle) { return sim_cuCtxPushCurrent_v2(handle); }

API(cuCtxPopCurrent_v2)(CUcontext* handle) {
    auto& stack = context_stack();
    if (stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;  // the thread's own: without the lock
    const auto held = engine::lock();
    if (handle != nullptr) *handle = reinterpret_cast<CUcontext>(stack.back().context);
    stack.pop_back();
    return CUDA_SUCCESS;
}
API(cuCtxPopCurrent)(CUcontext* handle) { return sim_cuCtxPopCurrent_v2(handle); }

API(cuCtxSetCurrent)(CUcontext handle) { return set_current(handle); }

// The tables behind it are no public interface; a runtime that needs them is told so, but for the box's own.
API(cuGetExportTable)(const void** table, const CUuuid* id) {
    static constexpr cudart::OwnTable kTable = {set_current};
    const bool is_own = id != nullptr && std::memcmp(id, &cudart::kOwnTable, sizeof cudart::kOwnTable) == 0;
    if (table != nullptr) *table = is_own ? &kTable : nullptr;
    return is_own && table != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

API(cuCtxGetCurrent)(CUcontext* handle) {
    if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    *handle = reinterpret_cast<CUcontext>(current_context());
    return CUDA_SUCCESS;
}

API(cuCtxGetDevice)(CUdevice* ordinal) {
    return about_current(ordinal, [=](Context& context) {
        *ordinal = context.device->ordinal;
        return CUDA_SUCCESS;
    });
}
API(cuCtxGetDevice_v2)(CUdevice* ordinal, CUcontext handle) {
    return about(handle, ordinal, [=](Context& context) {
        *ordinal = context.device->ordinal;
        return CUDA_SUCCESS;
    });
}

API(cuCtxGetId)(CUcontext handle, unsigned long long* id) {
    return about(handle, id, [=](Context& context) {
        *id = context.id;
        return CUDA_SUCCESS;
    });
}

API(cuCtxGetApiVersion)(CUcontext handle, unsigned* version) {
    return about(handle, version, [=](Context& context) {
        *version = context.api_version;
        return CUDA_SUCCESS;
    });
}

API(cuCtxGetFlags)(unsigned* flags) {
    return about_current(flags, [=](Context& context) {
        *flags = context.flags;
        return CUDA_SUCCESS;
    });
}
API(cuCtxSetFlags)(unsigned flags) {
    if ((flags & ~static_cast<unsigned>(CU_CTX_FLAGS_MASK)) != 0) return CUDA_ERROR_INVALID_VALUE;
    return about_current(&flags, [=](Context& context) {
        context.flags = flags;
        return CUDA_SUCCESS;
    });
}

API(cuCtxGetCacheConfig)(CUfunc_cache* config) {
    return about_current(config, [=](Context& context) {
        *config = context.cache_config;
        return CUDA_SUCCESS;
    });
}
API(cuCtxSetCacheConfig)(CUfunc_cache config) {
    return about_current(&config, [=](Context& context) {
        context.cache_config = config;
        return CUDA_SUCCESS;
    });
}
API(cuCtxGetSharedMemConfig)(CUsharedconfig* config) {
    return about_current(config, [=](Context& context) {
        *config = context.shared_config;
        return CUDA_SUCCESS;
    });
}
API(cuCtxSetSharedMemConfig)(CUsharedconfig config) {
    return about_current(&config, [=](Context& context) {
        context.shared_config = config;
        return CUDA_SUCCESS;
    });
}

API(cuCtxGetStreamPriorityRange)(int* least, int* greatest) {
    return about_current(&least, [=](Context&) {
        if (least != nullptr) *least = 0;
        if (greatest != nullptr) *greatest = -5;
        return CUDA_SUCCESS;
    });
}

API(cuCtxGetLimit)(size_t* value, CUlimit limit) {
    if (limit < 0 || limit >= CU_LIMIT_MAX) return CUDA_ERROR_UNSUPPORTED_LIMIT;
    return about_current(value, [=](Context& context) {
        const auto set = context.limits.find(limit);
        constexpr size_t kStack = 1024, kPrintf = 7 << 20, kHeap = 8 << 20;
        const size_t standard = limit == CU_LIMIT_STACK_SIZE         ? kStack
                                : limit == CU_LIMIT_PRINTF_FIFO_SIZE ? kPrintf
                                : limit == CU_LIMIT_MALLOC_HEAP_SIZE ? kHeap
                                                                     : 0;
        *value = set != context.limits.end() ? set->second : standard;
        return CUDA_SUCCESS;
    });
}
API(cuCtxSetLimit)(CUlimit limit, size_t value) {
    if (limit < 0 || limit >= CU_LIMIT_MAX) return CUDA_ERROR_UNSUPPORTED_LIMIT;
    return about_current(&value, [=](Context& context) {
        context.limits[limit] = value;
        return CUDA_SUCCESS;
    });
}
API(cuCtxResetPersistingL2Cache)() {
    const auto held = engine::lock();
    return current_context() != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

API(cuCtxSynchronize)() { return synchronize(nullptr); }
API(cuCtxSynchronize_v2)(CUcontext handle) { return synchronize(handle); }

API(cuDevicePrimaryCtxRetain)(CUcontext* handle, CUdevice ordinal) {
    if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    Device* on = device(ordinal);
    if (on == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    if (on->primary == nullptr) {
        on->primary = make_context(*on, on->primary_flags, 3020);
        on->primary->primary = true;
    }
    ++on->primary_retained;
    *handle = reinterpret_cast<CUcontext>(on->primary);
    return CUDA_SUCCESS;
}

API(cuDevicePrimaryCtxReset_v2)(CUdevice ordinal) {
    auto held = engine::lock();
    Device* on = device(ordinal);
    if (on == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    if (on->primary != nullptr) destroy_context(*std::exchange(on->primary, nullptr), held);
    return CUDA_SUCCESS;
}
API(cuDevicePrimaryCtxReset)(CUdevice ordinal) { return sim_cuDevicePrimaryCtxReset_v2(ordinal); }

API(cuDevicePrimaryCtxRelease_v2)(CUdevice ordinal) {
    {
        const auto held = engine::lock();
        Device* on = device(ordinal);
        if (on == nullptr) return CUDA_ERROR_INVALID_DEVICE;
        if (on->primary_retained == 0) return CUDA_ERROR_INVALID_CONTEXT;
        if (--on->primary_retained > 0) return CUDA_SUCCESS;
    }
    return sim_cuDevicePrimaryCtxReset_v2(ordinal);
}
API(cuDevicePrimaryCtxRelease)(CUdevice ordinal) { return sim_cuDevicePrimaryCtxRelease_v2(ordinal); }

API(cuDevicePrimaryCtxGetState)(CUdevice ordinal, unsigned* flags, int* active) {
    if (flags == nullptr || active == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    const Device* on = device(ordinal);
    if (on == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    *flags = on->primary != nullptr ? on->primary->flags : on->primary_flags;
    *active = on->primary != nullptr ? 1 : 0;
    return CUDA_SUCCESS;
}

API(cuDevicePrimaryCtxSetFlags_v2)(CUdevice ordinal, unsigned flags) {
    if ((flags & ~static_cast<unsigned>(CU_CTX_FLAGS_MASK)) != 0) return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    Device* on = device(ordinal);
    if (on == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    on->primary_flags = flags;
    if (on->primary != nullptr) on->primary->flags = flags;
    return CUDA_SUCCESS;
}
API(cuDevicePrimaryCtxSetFlags)(CUdevice ordinal, unsigned flags) {
    return sim_cuDevicePrimaryCtxSetFlags_v2(ordinal, flags);
}
