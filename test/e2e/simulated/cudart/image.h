// An image with kernels and variables, registered by hand as nvcc's code does it, so that a program built by
// a plain C++ compiler has something to launch. KERNEL(work__100us) makes a symbol `work__100us` to launch;
// VARIABLE(int, table, [4]) one to copy to and from.
#pragma once

#include <cuda_runtime_api.h>

extern "C" {
void** __cudaRegisterFatBinary(void*);
void __cudaRegisterFatBinaryEnd(void**);
void __cudaUnregisterFatBinary(void**);
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*, dim3*, int*);
void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int);
}

struct Image {
    void** handle;
    explicit Image(const char* code) : handle(__cudaRegisterFatBinary(const_cast<char*>(code))) {}
    ~Image() { __cudaUnregisterFatBinary(handle); }
};

// The PTX that the program brings; IMAGE_CODE is defined before this file is included.
inline Image image(IMAGE_CODE);

struct RegisterKernel {
    RegisterKernel(const void* function, const char* name) {
        __cudaRegisterFunction(image.handle, static_cast<const char*>(function), const_cast<char*>(name),
                               name, -1, nullptr, nullptr, nullptr, nullptr, nullptr);
    }
};

struct RegisterVariable {
    RegisterVariable(void* symbol, const char* name, size_t size_bytes) {
        __cudaRegisterVar(image.handle, static_cast<char*>(symbol), const_cast<char*>(name), name, 0,
                          size_bytes, 0, 0);
    }
};

#define KERNEL(name)            \
    static const char name = 0; \
    static const RegisterKernel register_##name(&name, #name);

#define VARIABLE(type, name, extent) \
    static type name extent;         \
    static const RegisterVariable register_##name(&name, #name, sizeof name);
