// A program whose calls of the driver do not always return: an exception or longjmp goes through them, or the
// thread is cancelled inside. With -DDRIVER, the library that stands behind the shim and makes that happen.
#include <cuda.h>
#include <pthread.h>
#include <unistd.h>

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#ifdef DRIVER
using Way = void (*)();
extern "C" Way way_out;
Way way_out = nullptr;

extern "C" CUresult cuCtxSynchronize() {
    if (way_out != nullptr) way_out();
    return CUDA_SUCCESS;
}
#else
using Way = void (*)();
extern "C" Way way_out;

namespace {

CUfunction function;
CUcontext context;
jmp_buf back;

#define CHECK(call) \
    if ((call) != CUDA_SUCCESS) std::printf("%s failed\n", #call), std::exit(1)

// From deeper in the stack than the call that was left.
[[gnu::noinline]] void launch(int depth) {
    volatile char filler[512];
    std::memset(const_cast<char*>(filler), depth, sizeof filler);
    if (depth > 0) return launch(depth - 1);
    CHECK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr));
}

void throws() { throw 7; }
void jumps() { std::longjmp(back, 1); }
void waits() {
    for (;;) pause();
}

struct Leaving {
    ~Leaving() { std::printf("the stack was unwound\n"); }
};

void* is_cancelled(void*) {
    Leaving leaving;
    CHECK(cuCtxSetCurrent(context));
    launch(0);
    cuCtxSynchronize();
    std::printf("came back\n");
    return nullptr;
}

void set_up() {
    CUdevice device;
    CUmodule module;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoadData(&module,
                           ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry work()\n{\n}\n"));
    CHECK(cuModuleGetFunction(&function, module, "work"));
}

}  // namespace

int main() {
    set_up();
    launch(0);
    way_out = throws;
    try {
        cuCtxSynchronize();
    } catch (int number) {
        std::printf("caught %d\n", number);
    }
    for (int i = 0; i < 10; ++i) launch(i);
    way_out = jumps;
    if (setjmp(back) == 0) cuCtxSynchronize();
    std::printf("jumped\n");
    for (int i = 0; i < 10; ++i) launch(i);
    way_out = waits;
    pthread_t thread;
    pthread_create(&thread, nullptr, is_cancelled, nullptr);
    usleep(50000);
    pthread_cancel(thread);
    void* end = nullptr;
    pthread_join(thread, &end);
    std::printf("%s\n", end == PTHREAD_CANCELED ? "cancelled" : "ended");
    for (int i = 0; i < 10; ++i) launch(i);
    std::printf("%d\n", cuStreamSynchronize(nullptr));
    return 0;
}
#endif
