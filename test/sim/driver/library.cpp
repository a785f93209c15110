// Libraries and kernels: code that is loaded without a context; functions of it are made per context when
// used.
#include <csignal>
#include <fstream>
#include <iterator>

#include "engine/intern.h"
#include "engine/knobs.h"
#include "entry.h"
#include "image.h"
#include "memory.h"
#include "objects.h"

namespace gpusim::driver {
namespace {

Module& module_in(Library& library, Context& context) {
    Module*& module = library.modules[&context];
    if (module == nullptr) {
        module = make_module(context, library.image);
        module->of_library = true;
    }
    return *module;
}

}  // namespace

void forget_libraries(Context& context) {
    for (Library* library : libraries().all()) library->modules.erase(&context);
}

Function* find_function(CUfunction handle, Context& context) {
    if (Function* function = functions().find(handle)) return function;
    Kernel* kernel = kernels().find(handle);
    return kernel == nullptr ? nullptr : get_function(module_in(*kernel->library, context), kernel->name);
}

}  // namespace gpusim::driver

using namespace gpusim;
using namespace gpusim::driver;

namespace {

CUresult load(CUlibrary* handle, const void* data) {
    if (handle == nullptr || data == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    auto image = read_image(data);
    if (image == nullptr) return CUDA_ERROR_INVALID_PTX;
    Library* library = libraries().make();
    library->image = std::move(image);
    *handle = reinterpret_cast<CUlibrary>(library);
    return CUDA_SUCCESS;
}

Kernel* get_kernel(Library& library, std::string_view name) {
    const auto known = library.kernels.find(name);
    if (known != library.kernels.end()) return known->second;
    if (library.image->names_known && !library.image->functions.contains(name)) return nullptr;
    return library.kernels[std::string(name)] = kernels().make(intern(name), &library);
}

// Most of what is asked of a library or kernel is asked of its module or function in the current context.
template <class Answer>
CUresult in_context(CUlibrary handle, const void* argument, Answer answer) {
    if (argument == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    Library* library = libraries().find(handle);
    if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (current_context() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    return answer(module_in(*library, *current_context()));
}

template <class Answer>
CUresult about(CUlibrary handle, const void* argument, Answer answer) {
    if (argument == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    Library* library = libraries().find(handle);
    return library != nullptr ? answer(*library) : CUDA_ERROR_INVALID_HANDLE;
}

template <class Answer>
CUresult about(CUkernel handle, const void* argument, Answer answer) {
    if (argument == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    Kernel* kernel = kernels().find(handle);
    return kernel != nullptr ? answer(*kernel) : CUDA_ERROR_INVALID_HANDLE;
}

}  // namespace

API(cuLibraryLoadData)
(CUlibrary* library, const void* code, CUjit_option*, void**, unsigned, CUlibraryOption*, void**, unsigned) {
    return load(library, code);
}
API(cuLibraryLoadFromFile)
(CUlibrary* library, const char* path, CUjit_option*, void**, unsigned, CUlibraryOption*, void**, unsigned) {
    if (library == nullptr || path == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::ifstream file(path, std::ios::binary);
    if (!file) return CUDA_ERROR_FILE_NOT_FOUND;
    const std::string content(std::istreambuf_iterator<char>(file), {});
    return load(library, content.c_str());
}

API(cuLibraryUnload)(CUlibrary handle) {
    return about(handle, handle, [](Library& library) {
        for (const auto& [context, module] : library.modules) destroy_module(*module);
        for (const auto& [name, kernel] : library.kernels) kernels().destroy(kernel);
        libraries().destroy(&library);
        return CUDA_SUCCESS;
    });
}

API(cuLibraryGetKernel)(CUkernel* result, CUlibrary handle, const char* name) {
    if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return about(handle, result, [=](Library& library) {
        Kernel* kernel = get_kernel(library, name);
        if (kernel == nullptr) return CUDA_ERROR_NOT_FOUND;
        *result = reinterpret_cast<CUkernel>(kernel);
        return CUDA_SUCCESS;
    });
}
API(cuLibraryGetKernelCount)(unsigned* count, CUlibrary handle) {
    return about(handle, count, [=](Library& library) {
        *count = static_cast<unsigned>(library.image->functions.size());
        return CUDA_SUCCESS;
    });
}
API(cuLibraryEnumerateKernels)(CUkernel* list, unsigned count, CUlibrary handle) {
    return about(handle, list, [=](Library& library) {
        unsigned filled = 0;
        for (const auto& [name, parameters] : library.image->functions)
            if (filled < count) list[filled++] = reinterpret_cast<CUkernel>(get_kernel(library, name));
        return CUDA_SUCCESS;
    });
}

API(cuLibraryGetModule)(CUmodule* result, CUlibrary handle) {
    return in_context(handle, result, [=](Module& module) {
        *result = reinterpret_cast<CUmodule>(&module);
        return CUDA_SUCCESS;
    });
}
API(cuLibraryGetGlobal)(CUdeviceptr* address, size_t* bytes, CUlibrary handle, const char* name) {
    CUmodule module = nullptr;
    RETURN_IF_FAILED(sim_cuLibraryGetModule(&module, handle));
    return sim_cuModuleGetGlobal_v2(address, bytes, module, name);
}
API(cuLibraryGetManaged)(CUdeviceptr*, size_t*, CUlibrary, const char*) { return CUDA_ERROR_NOT_FOUND; }
API(cuLibraryGetUnifiedFunction)(void**, CUlibrary, const char*) { return CUDA_ERROR_NOT_FOUND; }

API(cuKernelGetFunction)(CUfunction* result, CUkernel handle) {
    return about(handle, result, [=](Kernel& kernel) {
        if (current_context() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
        *result = reinterpret_cast<CUfunction>(
            get_function(module_in(*kernel.library, *current_context()), kernel.name));
        return CUDA_SUCCESS;
    });
}
API(cuKernelGetLibrary)(CUlibrary* result, CUkernel handle) {
    return about(handle, result, [=](Kernel& kernel) {
        *result = reinterpret_cast<CUlibrary>(kernel.library);
        return CUDA_SUCCESS;
    });
}
API(cuKernelGetName)(const char** name, CUkernel handle) {
    if (knobs().version < 13000 && kernels().find(handle) == nullptr) std::raise(SIGSEGV);
    return about(handle, name, [=](Kernel& kernel) {
        *name = kernel.name;
        return CUDA_SUCCESS;
    });
}
API(cuKernelGetAttribute)(int* value, CUfunction_attribute attribute, CUkernel handle, CUdevice) {
    return sim_cuFuncGetAttribute(value, attribute, reinterpret_cast<CUfunction>(handle));
}
API(cuKernelSetAttribute)(CUfunction_attribute attribute, int value, CUkernel handle, CUdevice) {
    return sim_cuFuncSetAttribute(reinterpret_cast<CUfunction>(handle), attribute, value);
}
API(cuKernelSetCacheConfig)(CUkernel handle, CUfunc_cache config, CUdevice) {
    return sim_cuFuncSetCacheConfig(reinterpret_cast<CUfunction>(handle), config);
}
API(cuKernelGetParamInfo)(CUkernel handle, size_t index, size_t* offset, size_t* size) {
    return sim_cuFuncGetParamInfo(reinterpret_cast<CUfunction>(handle), index, offset, size);
}
