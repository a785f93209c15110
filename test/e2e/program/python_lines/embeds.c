// Makes and ends an interpreter of the library that is its argument, again and again, between calls of the
// driver.
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void must(int done) {
    if (!done) exit(1);
}

int main(int count, char** words) {
    CUcontext context;
    CUdevice device;
    must(count == 2 && cuInit(0) == CUDA_SUCCESS && cuDeviceGet(&device, 0) == CUDA_SUCCESS);
    must(cuDevicePrimaryCtxRetain(&context, device) == CUDA_SUCCESS &&
         cuCtxSetCurrent(context) == CUDA_SUCCESS);
    void* python = dlopen(words[1], RTLD_NOW | RTLD_GLOBAL);
    must(python != NULL);
    void (*begin)(int) = (void (*)(int))dlsym(python, "Py_InitializeEx");
    int (*run)(const char*) = (int (*)(const char*))dlsym(python, "PyRun_SimpleString");
    int (*end)(void) = (int (*)(void))dlsym(python, "Py_FinalizeEx");
    must(begin != NULL && run != NULL && end != NULL);
    for (int i = 0; i < 6; ++i) {
        must(cuCtxSynchronize() == CUDA_SUCCESS);
        begin(0);
        must(run("import time\ndef inside():\n    time.sleep(0.25)\ninside()\n") == 0);
        end();
        usleep(20000);
    }
    puts("over");
    return 0;
}
