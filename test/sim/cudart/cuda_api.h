// The public headers of driver and runtime with every form of every function under its own name: the plain
// ones and the _ptds and _ptsz ones, and no macro that turns one into another. Include nothing of CUDA but
// this.
#pragma once

#define __CUDA_API_VERSION_INTERNAL

#include <cuda.h>
#include <cudaProfiler.h>
#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>

// A deprecated function is still one that a program may call.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
