// A program with structures like those of an interpreter that we know, of one that we do not, or of none.
// VERSION, and what WRONG is: nothing, `published`, `threads`, `frames`.
#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef VERSION
const unsigned long Py_Version = VERSION;
uint64_t _PyRuntime[256];
uint64_t PyCode_Type[64], PyUnicode_Type[64];
#endif

static void must(CUresult result) {
    if (result != CUDA_SUCCESS) exit(1);
}

// As 3.11 has them: an interpreter's threads at 16, a thread's next at 8, interpreter at 16, frame at 56,
// number at 160; a frame's code at 32, caller at 48.
static void pretend(const char* wrong) {
#ifdef VERSION
    static uint64_t interpreter[16], thread[32], frame_of_c[4], frame[16], other[16], code[32];
    if (!strcmp(wrong, "published")) {
        memcpy(_PyRuntime, "xdebugpy", 8);
        _PyRuntime[1] = VERSION;
        _PyRuntime[2] = 1;
        return;
    }
    _PyRuntime[5] = (uint64_t)interpreter;
    interpreter[0] = (uint64_t)interpreter;
    interpreter[2] = (uint64_t)thread;
    thread[2] = (uint64_t)interpreter;
    thread[1] = (uint64_t)thread;
    thread[20] = strcmp(wrong, "threads") ? (uint64_t)getpid() : 1;
    thread[7] = (uint64_t)frame_of_c;
    frame_of_c[1] = (uint64_t)frame;
    frame[4] = other[4] = (uint64_t)code;
    frame[6] = (uint64_t)other;
    other[6] = strcmp(wrong, "gone") ? (uint64_t)frame : 0x10;
    code[1] = (uint64_t)PyCode_Type;
    code[14] = code[15] = 0x10;
#else
    (void)wrong;
#endif
}

int main(int count, char** words) {
    CUcontext context;
    CUdevice device;
    pretend(count > 1 ? words[1] : "");
    must(cuInit(0));
    must(cuDeviceGet(&device, 0));
    must(cuDevicePrimaryCtxRetain(&context, device));
    must(cuCtxSetCurrent(context));
    // On a busy machine the writer may get no processor for some of these.
    for (int i = 0; i < 40; ++i) {
        must(cuCtxSynchronize());
        usleep(30000);
    }
    puts("over");
    return 3;
}
