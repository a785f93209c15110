// What calls answer: about the program's own objects, to arguments that are refused, after a kernel's error.
#include <errno.h>

#include "program.h"

// What the program's own events, its memory and its current context say.
void answers(void) {
    CUstream stream = stream_with(CU_STREAM_NON_BLOCKING);
    CUevent first, last, never;
    CUcontext now;
    size_t free_bytes, all_bytes;
    float ms;
    const CUfunction slow = kernel("slow__300000us");
    SAY(cuEventCreate(&first, 0));
    SAY(cuEventCreate(&last, 0));
    SAY(cuEventCreate(&never, 0));
    SAY(cuEventQuery(never));
    SAY(cuEventRecord(first, stream));
    SAY(cuLaunchKernel(slow, 1, 1, 1, 32, 1, 1, 0, stream, 0, 0));
    SAY(cuEventRecord(last, stream));
    SAY(cuEventQuery(last));
    SAY(cuStreamQuery(stream));
    SAY(cuEventElapsedTime(&ms, first, last));
    operations(stream, 5);
    SAY(cuStreamSynchronize(stream));
    SAY(cuEventQuery(last));
    SAY(cuEventElapsedTime(&ms, first, last));
    SAY(cuEventElapsedTime(&ms, first, never));
    printf("as long as it takes: %d\n", ms >= 300);
    say_bytes(5);
    SAY(cuMemGetInfo(&free_bytes, &all_bytes));
    printf("memory: %zu of %zu\n", free_bytes, all_bytes);
    SAY(cuCtxGetCurrent(&now));
    printf("the same context: %d\n", now == context);
    errno = 77;
    launch(stream);
    printf("errno: %d\n", errno);
}

// Arguments that the driver refuses.
void refused(void) {
    CUstream stream = stream_with(CU_STREAM_NON_BLOCKING), gone = stream_with(CU_STREAM_NON_BLOCKING);
    SAY(cuMemcpy2DAsync(0, stream));
    SAY(cuMemcpy3DAsync(0, stream));
    SAY(cuLaunchKernelEx(0, function, 0, 0));
    SAY(cuLaunchKernel(function, 0, 1, 1, 32, 1, 1, 0, stream, 0, 0));
    SAY(cuLaunchKernel(0, 1, 1, 1, 32, 1, 1, 0, stream, 0, 0));
    SAY(cuMemcpyDtoHAsync(pinned, 0, kBytes, stream));
    SAY(cuMemAllocAsync(0, kBytes, stream));
    SAY(cuGraphLaunch(0, stream));
    SAY(cuEventRecord(0, stream));
    SAY(cuStreamWaitEvent(stream, 0, 0));
    SAY(cuStreamDestroy(gone));
    SAY(launch(gone));
    SAY(launch(gone));
    SAY(cuMemsetD8Async(memory, 0, kBytes, gone));
    SAY(launch(stream));
    SAY(cuStreamSynchronize(stream));
}

// A kernel's error, which every later call tells.
void fault(void) {
    CUstream stream = stream_with(CU_STREAM_NON_BLOCKING);
    const CUfunction bad = kernel("bad__20us__fault719__");
    operations(stream, 1);
    SAY(cuStreamSynchronize(stream));
    SAY(cuLaunchKernel(bad, 1, 1, 1, 32, 1, 1, 0, stream, 0, 0));
    usleep(200000);
    SAY(launch(stream));
    SAY(cuStreamSynchronize(stream));
    SAY(launch(0));
    SAY(cuMemFree(memory));
}
