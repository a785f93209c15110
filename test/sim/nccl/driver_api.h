// The driver as the library finds it: libcuda.so.1 opened by name and asked through cuGetProcAddress, so
// whatever stands between a program and the driver stands between NCCL and the driver, too. Any thread.
#pragma once

#include <cuda.h>

namespace gpusim::nccl {

struct DriverApi {
#define DRIVER_FUNCTION(name) decltype(&::name) name = nullptr;
#include "driver_api.def"
#undef DRIVER_FUNCTION
    bool complete = false;  // all but cuLaunchKernelEx must be there
};

const DriverApi& driver_api();

// Makes a context current for as long as it lives.
class InContext {
  public:
    explicit InContext(CUcontext context);
    ~InContext();
    InContext(const InContext&) = delete;
    InContext& operator=(const InContext&) = delete;

  private:
    bool pushed_ = false;
};

}  // namespace gpusim::nccl
