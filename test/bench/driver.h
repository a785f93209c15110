// What the benchmark programs share: the driver that does nothing, reached as programs reach a driver (dlopen
// and dlsym, so through a preload) and past any preload; and time.
#pragma once

#include <cuda.h>
#include <dlfcn.h>
#include <time.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace bench {

using Launch = CUresult (*)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                            CUstream, void**, void**);

inline uint64_t ticks() {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    uint64_t value;
    asm volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
#endif
}

// The same when all that stands before it has been done, and before anything after it is.
inline uint64_t ticks_in_order() {
#if defined(__x86_64__)
    __builtin_ia32_lfence();
    const uint64_t value = ticks();
    __builtin_ia32_lfence();
    return value;
#else
    asm volatile("isb" ::: "memory");
    return ticks();
#endif
}

inline int64_t now_ns() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

// How long a tick is, over 50 ms.
inline double tick_ns() {
    const int64_t begin_ns = now_ns();
    const uint64_t begin = ticks();
    while (now_ns() < begin_ns + 50'000'000) {
    }
    return static_cast<double>(now_ns() - begin_ns) / static_cast<double>(ticks() - begin);
}

class Driver {
  public:
    Driver() : library_(dlopen("libcuda.so.1", RTLD_NOW)) {
        if (library_ == nullptr) fail(dlerror());
        through = find<Launch>("cuLaunchKernel");
        const auto plain_launch = find<void* (*)()>("bench_plain_launch");
        plain = reinterpret_cast<Launch>(plain_launch());
        call<CUresult (*)(unsigned)>("cuInit", 0U);
    }

    void start() {
        CUcontext context;
        CUmodule module;
        call<CUresult (*)(CUcontext*, unsigned, CUdevice)>("cuCtxCreate_v2", &context, 0U, 0);
        call<CUresult (*)(CUmodule*, const void*)>("cuModuleLoadData", &module, "an image");
        call<CUresult (*)(CUfunction*, CUmodule, const char*)>("cuModuleGetFunction", &function, module,
                                                               "kernel");
    }

    CUresult launch(Launch way) const {
        return way(function, 8, 4, 2, 256, 1, 1, 0, nullptr, nullptr, nullptr);
    }

    Launch through = nullptr;  // as the program gets it: the shim's, where there is one
    Launch plain = nullptr;
    CUfunction function = nullptr;

  private:
    [[noreturn]] static void fail(const char* what) {
        std::fprintf(stderr, "bench: %s\n", what);
        std::exit(1);
    }
    template <class Function>
    Function find(const char* name) const {
        void* found = dlsym(library_, name);
        if (found == nullptr) fail(name);
        return reinterpret_cast<Function>(found);
    }
    template <class Function, class... Arguments>
    void call(const char* name, Arguments... arguments) const {
        if (find<Function>(name)(arguments...) != CUDA_SUCCESS) fail(name);
    }

    void* library_;
};

}  // namespace bench
