#include "cudart/registry.h"

#include <algorithm>
#include <list>
#include <mutex>
#include <string>
#include <unordered_map>

#include "cudart/boundary.h"

namespace cudart {
namespace {

struct Binary {
    void* image;
    CUlibrary library;
};

struct KernelEntry {
    Binary* binary;
    std::string name;
    CUkernel handle;
};

struct VariableEntry {
    Binary* binary;
    std::string name;
    Variable variable;
};

struct ManagedEntry {
    Binary* binary;
    std::string name;
    void** host_pointer;
    std::size_t size_bytes;
};

struct Registry {
    std::mutex mutex;
    std::list<Binary> binaries;
    std::unordered_map<const void*, KernelEntry> kernels;
    std::unordered_map<const void*, VariableEntry> variables;
    std::list<ManagedEntry> managed;
    std::unordered_map<CUkernel, const void*> handles;
};

// Never destroyed: generated code unregisters from exit handlers.
Registry& registry() {
    static auto& all = *new Registry;
    return all;
}

Binary* binary_of(void** handle) { return reinterpret_cast<Binary*>(handle); }

cudaError_t load(Binary& binary) {
    if (binary.library != nullptr) return cudaSuccess;
    return DRIVER(cuLibraryLoadData)(&binary.library, binary.image, nullptr, nullptr, 0, nullptr, nullptr, 0);
}

cudaError_t load(const void* function, KernelEntry& entry) {
    if (entry.handle != nullptr) return cudaSuccess;
    cudaError_t error = load(*entry.binary);
    if (error == cudaSuccess) {
        error = DRIVER(cuLibraryGetKernel)(&entry.handle, entry.binary->library, entry.name.c_str());
    }
    if (error == cudaSuccess) registry().handles[entry.handle] = function;
    return error;
}

// The size is the one registered: the driver cannot tell it of an image whose names it does not know.
cudaError_t load(VariableEntry& entry) {
    if (entry.variable.address != 0) return cudaSuccess;
    const cudaError_t error = load(*entry.binary);
    if (error != cudaSuccess) return error;
    std::size_t size_bytes = 0;
    CUdeviceptr address = 0;
    const cudaError_t found =
        DRIVER(cuLibraryGetGlobal)(&address, &size_bytes, entry.binary->library, entry.name.c_str());
    if (found == cudaSuccess) entry.variable = {address, std::min(size_bytes, entry.variable.size_bytes)};
    return found;
}

// The box finds managed variables in no image; managed memory of the same size serves as well.
cudaError_t load(const ManagedEntry& entry) {
    const cudaError_t error = load(*entry.binary);
    if (error != cudaSuccess) return error;
    CUdeviceptr address = 0;
    std::size_t size_bytes = 0;
    cudaError_t found =
        DRIVER(cuLibraryGetManaged)(&address, &size_bytes, entry.binary->library, entry.name.c_str());
    if (found != cudaSuccess) {
        found = DRIVER(cuMemAllocManaged)(&address, entry.size_bytes, CU_MEM_ATTACH_GLOBAL);
    }
    if (found == cudaSuccess) *entry.host_pointer = reinterpret_cast<void*>(address);
    return found;
}

void** register_binary(void* image) {
    const std::lock_guard lock(registry().mutex);
    return reinterpret_cast<void**>(&registry().binaries.emplace_back(Binary{image, nullptr}));
}

void register_binary_end(void**) {}

// The image stays loaded: this runs from exit handlers, when the driver may already have taken itself down.
void unregister_binary(void** handle) {
    const std::lock_guard lock(registry().mutex);
    Registry& all = registry();
    const auto is_of_it = [=](const auto& entry) { return entry.second.binary == binary_of(handle); };
    std::erase_if(all.kernels, is_of_it);
    std::erase_if(all.variables, is_of_it);
    std::erase_if(all.managed, [=](const ManagedEntry& entry) { return entry.binary == binary_of(handle); });
    std::erase_if(all.binaries, [=](const Binary& binary) { return &binary == binary_of(handle); });
}

void register_function(void** binary, const char* function, char*, const char* name, int, uint3*, uint3*,
                       dim3*, dim3*, int*) {
    const std::lock_guard lock(registry().mutex);
    registry().kernels[function] = KernelEntry{binary_of(binary), name, nullptr};
}

void register_variable(void** binary, char* symbol, char*, const char* name, int, std::size_t size_bytes, int,
                       int) {
    const std::lock_guard lock(registry().mutex);
    registry().variables[symbol] = VariableEntry{binary_of(binary), name, {0, size_bytes}};
}

void register_managed(void** binary, void** host_pointer, char*, const char* name, int,
                      std::size_t size_bytes, int, int) {
    const std::lock_guard lock(registry().mutex);
    registry().managed.push_back(ManagedEntry{binary_of(binary), name, host_pointer, size_bytes});
}

char init_module(void** binary) {
    if (remember(use_context()) != cudaSuccess) return 0;
    const std::lock_guard lock(registry().mutex);
    for (const ManagedEntry& entry : registry().managed) {
        if (entry.binary == binary_of(binary)) remember(load(entry));
    }
    return 1;
}

}  // namespace

cudaError_t find_kernel(const void* function, CUkernel& kernel) {
    const std::lock_guard lock(registry().mutex);
    const auto entry = registry().kernels.find(function);
    if (entry != registry().kernels.end()) {
        const cudaError_t error = load(function, entry->second);
        kernel = entry->second.handle;
        return error;
    }
    kernel = static_cast<CUkernel>(const_cast<void*>(function));
    return registry().handles.contains(kernel) ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

void* host_function(CUkernel kernel) {
    const std::lock_guard lock(registry().mutex);
    const auto entry = registry().handles.find(kernel);
    const bool has_function = entry != registry().handles.end() && entry->second != nullptr;
    return has_function ? const_cast<void*>(entry->second) : kernel;
}

cudaError_t find_variable(const void* symbol, Variable& variable) {
    const std::lock_guard lock(registry().mutex);
    const auto entry = registry().variables.find(symbol);
    if (entry == registry().variables.end()) return cudaErrorInvalidSymbol;
    const cudaError_t error = load(entry->second);
    variable = entry->second.variable;
    return error;
}

void add_kernel_handle(CUkernel kernel) {
    const std::lock_guard lock(registry().mutex);
    registry().handles.try_emplace(kernel, nullptr);
}

}  // namespace cudart

// Called by the code that nvcc generates; no header for a host compiler declares them.
extern "C" {
void** __cudaRegisterFatBinary(void*);
void __cudaRegisterFatBinaryEnd(void**);
void __cudaUnregisterFatBinary(void**);
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*, dim3*, int*);
void __cudaRegisterVar(void**, char*, char*, const char*, int, std::size_t, int, int);
void __cudaRegisterManagedVar(void**, void**, char*, const char*, int, std::size_t, int, int);
char __cudaInitModule(void**);
}

CUDART_NAME(__cudaRegisterFatBinary, cudart::register_binary)
CUDART_NAME(__cudaRegisterFatBinaryEnd, cudart::register_binary_end)
CUDART_NAME(__cudaUnregisterFatBinary, cudart::unregister_binary)
CUDART_NAME(__cudaRegisterFunction, cudart::register_function)
CUDART_NAME(__cudaRegisterVar, cudart::register_variable)
CUDART_NAME(__cudaRegisterManagedVar, cudart::register_managed)
CUDART_NAME(__cudaInitModule, cudart::init_module)
