// What the test programs of the stand-in runtime check with: the first thing that is not as it should be is
// named on stderr and ends the program with 1.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>

#define CHECK(condition)                                                                 \
    do {                                                                                 \
        if (!(condition)) {                                                              \
            std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            std::exit(1);                                                                \
        }                                                                                \
    } while (false)

// The call returns this error and no other.
#define IS(expected, call)                                                                     \
    do {                                                                                       \
        const cudaError_t is_ = (call);                                                        \
        if (is_ != (expected)) {                                                               \
            std::fprintf(stderr, "%s:%d: %s returned %s, not %s\n", __FILE__, __LINE__, #call, \
                         cudaGetErrorName(is_), #expected);                                    \
            std::exit(1);                                                                      \
        }                                                                                      \
    } while (false)

#define OK(call) IS(cudaSuccess, call)
