// Holds 600 MiB and asks for more than there is, in three ways; then for nothing at all, which is another
// error.
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

#define CU(call) ((call) == CUDA_SUCCESS ? (void)0 : (puts(#call), exit(1)))
#define NO_MEMORY(call) ((call) == CUDA_ERROR_OUT_OF_MEMORY ? (void)0 : (puts(#call), exit(2)))

int main(void) {
    const size_t mib = 1 << 20;
    CUcontext context;
    CUdeviceptr held, more;
    CU(cuInit(0));
    CU(cuDevicePrimaryCtxRetain(&context, 0));
    CU(cuCtxSetCurrent(context));
    CU(cuMemAlloc(&held, 600 * mib));
    NO_MEMORY(cuMemAlloc(&more, 700 * mib));
    CU(cuMemFree(held));
    NO_MEMORY(cuMemAlloc(&more, 2000 * mib));
    CU(cuMemAlloc(&held, 300 * mib));
    CUmemAllocationProp how = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                               .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
    CUmemGenericAllocationHandle handle;
    NO_MEMORY(cuMemCreate(&handle, 1000 * mib, &how, 0));
    NO_MEMORY(cuMemAllocAsync(&more, 900 * mib, NULL));
    if (cuMemAlloc(&more, 0) == CUDA_SUCCESS) return 3;
    return 0;
}
