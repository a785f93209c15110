// The driver API as the box implements it. An export is implemented by defining its function here-named
// `sim_…`:
//
//     API(cuStreamQuery)(CUstream stream) { … }
//
// serves cuStreamQuery and cuStreamQuery_ptsz. What nobody defines returns CUDA_ERROR_NOT_SUPPORTED
// (exports.cpp). A definition runs between entry and exit of entry.h, on the program's thread, with no lock
// held.
#pragma once

#define __CUDA_API_VERSION_INTERNAL  // every version of every name, none of them hidden behind a macro
#include <cuda.h>
#include <cudaProfiler.h>

#include "shim/calls/newer_driver.h"

extern "C" {
#define EXPORT(export, implementation, base, version, per_thread) \
    __attribute__((weak, visibility("hidden"))) decltype(::export) sim_##implementation;
#include "exports.def"
#undef EXPORT
}

#define API(name) extern "C" CUresult sim_##name

// For code that goes on only while things go well.
#define RETURN_IF_FAILED(call)                                     \
    do {                                                           \
        const CUresult result_of_call = (call);                    \
        if (result_of_call != CUDA_SUCCESS) return result_of_call; \
    } while (false)
