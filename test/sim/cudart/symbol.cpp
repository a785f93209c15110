#include "cudart/symbol.h"

#include "cudart/boundary.h"
#include "cudart/copy.h"
#include "cudart/registry.h"

namespace cudart {

cudaError_t find_in_variable(const void* symbol, std::size_t offset, std::size_t size_bytes, void*& address) {
    Variable variable{};
    const cudaError_t error = find_variable(symbol, variable);
    if (error != cudaSuccess) return error;
    if (offset > variable.size_bytes || size_bytes > variable.size_bytes - offset)
        return cudaErrorInvalidValue;
    address = reinterpret_cast<void*>(variable.address + offset);
    return cudaSuccess;
}

namespace {

template <DefaultStream kMode>
cudaError_t copy_to(const void* symbol, const void* source, std::size_t size_bytes, std::size_t offset,
                    cudaMemcpyKind kind) {
    void* target = nullptr;
    const cudaError_t error = find_in_variable(symbol, offset, size_bytes, target);
    return error == cudaSuccess ? copy<kMode>(target, source, size_bytes, kind) : error;
}

template <DefaultStream kMode>
cudaError_t copy_to_async(const void* symbol, const void* source, std::size_t size_bytes, std::size_t offset,
                          cudaMemcpyKind kind, cudaStream_t stream) {
    void* target = nullptr;
    const cudaError_t error = find_in_variable(symbol, offset, size_bytes, target);
    return error == cudaSuccess ? copy_async<kMode>(target, source, size_bytes, kind, stream) : error;
}

template <DefaultStream kMode>
cudaError_t copy_from(void* target, const void* symbol, std::size_t size_bytes, std::size_t offset,
                      cudaMemcpyKind kind) {
    void* source = nullptr;
    const cudaError_t error = find_in_variable(symbol, offset, size_bytes, source);
    return error == cudaSuccess ? copy<kMode>(target, source, size_bytes, kind) : error;
}

template <DefaultStream kMode>
cudaError_t copy_from_async(void* target, const void* symbol, std::size_t size_bytes, std::size_t offset,
                            cudaMemcpyKind kind, cudaStream_t stream) {
    void* source = nullptr;
    const cudaError_t error = find_in_variable(symbol, offset, size_bytes, source);
    return error == cudaSuccess ? copy_async<kMode>(target, source, size_bytes, kind, stream) : error;
}

cudaError_t symbol_address(void** address, const void* symbol) {
    return address == nullptr ? cudaErrorInvalidValue : find_in_variable(symbol, 0, 0, *address);
}

cudaError_t symbol_size(std::size_t* size_bytes, const void* symbol) {
    Variable variable{};
    const cudaError_t error = size_bytes == nullptr ? cudaErrorInvalidValue : find_variable(symbol, variable);
    if (error == cudaSuccess) *size_bytes = variable.size_bytes;
    return error;
}

}  // namespace
}  // namespace cudart

using namespace cudart;

EXPORT_DEFAULT_STREAM(cudaMemcpyToSymbol, copy_to)
EXPORT_STREAM(cudaMemcpyToSymbolAsync, copy_to_async)
EXPORT_DEFAULT_STREAM(cudaMemcpyFromSymbol, copy_from)
EXPORT_STREAM(cudaMemcpyFromSymbolAsync, copy_from_async)
EXPORT_RUNTIME(cudaGetSymbolAddress, context, symbol_address)
EXPORT_RUNTIME(cudaGetSymbolSize, context, symbol_size)
