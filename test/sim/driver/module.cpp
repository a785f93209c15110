// Modules and their functions: loaded from an image into a context.
#include <fstream>
#include <iterator>

#include "engine/intern.h"
#include "entry.h"
#include "image.h"
#include "memory.h"
#include "objects.h"

namespace gpusim::driver {
namespace {

// What is not known of an image's code is answered with values that any kernel could have.
void set_attributes(Function& function) {
    function.attributes[CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK] = 1024;
    function.attributes[CU_FUNC_ATTRIBUTE_NUM_REGS] = 32;
    function.attributes[CU_FUNC_ATTRIBUTE_PTX_VERSION] = 90;
    function.attributes[CU_FUNC_ATTRIBUTE_BINARY_VERSION] = 90;
    function.attributes[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES] = 49152;
    function.attributes[CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT] = -1;
}

}  // namespace

Module* make_module(Context& context, std::shared_ptr<const Image> image) {
    Module* module = modules().make();
    module->context = &context;
    module->image = std::move(image);
    context.modules.insert(module);
    return module;
}

void destroy_module(Module& module) {
    for (const auto& [name, function] : module.functions) functions().destroy(function);
    for (const auto& [name, address] : module.globals)
        if (address != 0) free_device_memory(address);
    module.context->modules.erase(&module);
    modules().destroy(&module);
}

Function* get_function(Module& module, std::string_view name) {
    const auto known = module.functions.find(name);
    if (known != module.functions.end()) return known->second;
    const auto declared = module.image->functions.find(name);
    if (module.image->names_known && declared == module.image->functions.end()) return nullptr;
    Function* function = functions().make();
    function->name = intern(name);
    function->module = &module;
    function->duration_ns = duration_by_name(name);
    function->fails_with = fault_by_name(name);
    set_attributes(*function);
    if (module.image->names_known) function->parameters = declared->second;
    if (module.image->kernels != nullptr) function->parameters = {{0, 8}};
    function->parameters_known = module.image->names_known || module.image->kernels != nullptr;
    return module.functions[std::string(name)] = function;
}

}  // namespace gpusim::driver

using namespace gpusim;
using namespace gpusim::driver;

namespace {

CUresult load(CUmodule* handle, const void* data) {
    if (handle == nullptr || data == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    Context* context = current_context();
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    auto image = read_image(data);
    if (image == nullptr) return CUDA_ERROR_INVALID_PTX;
    *handle = reinterpret_cast<CUmodule>(make_module(*context, std::move(image)));
    return CUDA_SUCCESS;
}

constexpr size_t kUnknownGlobalBytes = 256;  // of images that do not tell

CUresult find_global(Module& module, const char* name, CUdeviceptr* address, size_t* bytes) {
    const auto declared = module.image->globals.find(name);
    if (module.image->names_known && declared == module.image->globals.end()) return CUDA_ERROR_NOT_FOUND;
    const size_t size = module.image->names_known ? declared->second : kUnknownGlobalBytes;
    CUdeviceptr& at = module.globals[name];
    if (at == 0) at = allocate_device_memory(*module.context, size);
    if (at == 0) return CUDA_ERROR_OUT_OF_MEMORY;
    if (address != nullptr) *address = at;
    if (bytes != nullptr) *bytes = size;
    return CUDA_SUCCESS;
}

template <class Answer>
CUresult about(CUmodule handle, const void* argument, Answer answer) {
    if (argument == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    Module* module = modules().find(handle);
    return module != nullptr ? answer(*module) : CUDA_ERROR_INVALID_HANDLE;
}

}  // namespace

API(cuModuleLoadData)(CUmodule* module, const void* image) { return load(module, image); }
API(cuModuleLoadFatBinary)(CUmodule* module, const void* image) { return load(module, image); }
API(cuModuleLoadDataEx)
(CUmodule* module, const void* image, unsigned count, CUjit_option* options, void** values) {
    if (count > 0 && (options == nullptr || values == nullptr)) return CUDA_ERROR_INVALID_VALUE;
    return load(module, image);
}

API(cuModuleLoad)(CUmodule* module, const char* path) {
    if (module == nullptr || path == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::ifstream file(path, std::ios::binary);
    if (!file) return CUDA_ERROR_FILE_NOT_FOUND;
    std::string content(std::istreambuf_iterator<char>(file), {});
    return load(module, content.c_str());
}

API(cuModuleUnload)(CUmodule handle) {
    return about(handle, handle, [](Module& module) {
        if (module.of_library) return CUDA_ERROR_NOT_PERMITTED;
        destroy_module(module);
        return CUDA_SUCCESS;
    });
}

API(cuModuleGetFunction)(CUfunction* result, CUmodule handle, const char* name) {
    if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return about(handle, result, [=](Module& module) {
        Function* function = get_function(module, name);
        if (function == nullptr) return CUDA_ERROR_NOT_FOUND;
        *result = reinterpret_cast<CUfunction>(function);
        return CUDA_SUCCESS;
    });
}

API(cuModuleGetFunctionCount)(unsigned* count, CUmodule handle) {
    return about(handle, count, [=](Module& module) {
        *count = static_cast<unsigned>(module.image->functions.size());
        return CUDA_SUCCESS;
    });
}

API(cuModuleEnumerateFunctions)(CUfunction* list, unsigned count, CUmodule handle) {
    return about(handle, list, [=](Module& module) {
        unsigned filled = 0;
        for (const auto& [name, parameters] : module.image->functions)
            if (filled < count) list[filled++] = reinterpret_cast<CUfunction>(get_function(module, name));
        return CUDA_SUCCESS;
    });
}

API(cuModuleGetGlobal_v2)(CUdeviceptr* address, size_t* bytes, CUmodule handle, const char* name) {
    return about(handle, name, [=](Module& module) { return find_global(module, name, address, bytes); });
}

API(cuModuleGetLoadingMode)(CUmoduleLoadingMode* mode) {
    if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *mode = CU_MODULE_LAZY_LOADING;
    return CUDA_SUCCESS;
}

// Links nothing: whatever is added, the result holds every name, like any image that is not PTX text.
struct CUlinkState_st {
    std::string image = "linked by the box";
};

API(cuLinkCreate_v2)(unsigned, CUjit_option*, void**, CUlinkState* state) {
    if (state == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    if (current_context() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    *state = new CUlinkState_st;
    return CUDA_SUCCESS;
}
API(cuLinkAddData_v2)
(CUlinkState state, CUjitInputType, void* data, size_t, const char*, unsigned, CUjit_option*, void**) {
    return state != nullptr && data != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
API(cuLinkAddFile_v2)(CUlinkState state, CUjitInputType, const char* path, unsigned, CUjit_option*, void**) {
    if (state == nullptr || path == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return std::ifstream(path) ? CUDA_SUCCESS : CUDA_ERROR_FILE_NOT_FOUND;
}
API(cuLinkCreate)(unsigned count, CUjit_option* options, void** values, CUlinkState* state) {
    return sim_cuLinkCreate_v2(count, options, values, state);
}
API(cuLinkAddData)
(CUlinkState state, CUjitInputType type, void* data, size_t bytes, const char* name, unsigned count,
 CUjit_option* options, void** values) {
    return sim_cuLinkAddData_v2(state, type, data, bytes, name, count, options, values);
}
API(cuLinkAddFile)
(CUlinkState state, CUjitInputType type, const char* path, unsigned count, CUjit_option* options,
 void** values) {
    return sim_cuLinkAddFile_v2(state, type, path, count, options, values);
}
API(cuLinkComplete)(CUlinkState state, void** image, size_t* bytes) {
    if (state == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *image = state->image.data();
    if (bytes != nullptr) *bytes = state->image.size() + 1;
    return CUDA_SUCCESS;
}
API(cuLinkDestroy)(CUlinkState state) {
    delete state;
    return CUDA_SUCCESS;
}
