#include "cudart/error.h"

#include "cudart/boundary.h"

namespace cudart {
namespace {

thread_local cudaError_t last_error = cudaSuccess;

// After these the process has to end: nothing takes them back.
bool is_sticky(cudaError_t error) {
    switch (error) {
        case cudaErrorIllegalAddress:
        case cudaErrorLaunchTimeout:
        case cudaErrorAssert:
        case cudaErrorHardwareStackError:
        case cudaErrorIllegalInstruction:
        case cudaErrorMisalignedAddress:
        case cudaErrorInvalidAddressSpace:
        case cudaErrorInvalidPc:
        case cudaErrorLaunchFailure:
            return true;
        default:
            return false;
    }
}

cudaError_t peek_at_last_error() { return last_error; }

cudaError_t get_last_error() {
    const cudaError_t error = last_error;
    if (!is_sticky(error)) last_error = cudaSuccess;
    return error;
}

const char* error_name(cudaError_t error) {
    switch (error) {
#define ERROR(name) \
    case name:      \
        return #name;
#include "cudart/errors.def"
#undef ERROR
    }
    return "unrecognized error code";
}

// The wording is the driver's; without a driver, the name has to do.
const char* error_string(cudaError_t error) {
    const char* text = nullptr;
    if (open_driver() == cudaSuccess) DRIVER(cuGetErrorString)(static_cast<CUresult>(error), &text);
    return text != nullptr ? text : error_name(error);
}

}  // namespace

cudaError_t remember(cudaError_t error) {
    if (error != cudaSuccess) last_error = error;
    return error;
}

}  // namespace cudart

CUDART_NAME(cudaGetLastError, cudart::get_last_error)
CUDART_NAME(cudaPeekAtLastError, cudart::peek_at_last_error)
CUDART_NAME(cudaGetErrorName, cudart::error_name)
CUDART_NAME(cudaGetErrorString, cudart::error_string)
