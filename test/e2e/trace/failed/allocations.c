// Holds 600 MiB and asks for more than there is, in three ways; then for nothing at all, which is another
// error.
#include "one_gpu.h"

#define NO_MEMORY(call) ((call) == CUDA_ERROR_OUT_OF_MEMORY ? (void)0 : (puts(#call), exit(2)))

int main(void) {
    const size_t mib = 1 << 20;
    CUdeviceptr held, more;
    open_primary();
    MUST(cuMemAlloc(&held, 600 * mib));
    NO_MEMORY(cuMemAlloc(&more, 700 * mib));
    MUST(cuMemFree(held));
    NO_MEMORY(cuMemAlloc(&more, 2000 * mib));
    MUST(cuMemAlloc(&held, 300 * mib));
    CUmemAllocationProp how = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                               .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
    CUmemGenericAllocationHandle handle;
    NO_MEMORY(cuMemCreate(&handle, 1000 * mib, &how, 0));
    NO_MEMORY(cuMemAllocAsync(&more, 900 * mib, NULL));
    if (cuMemAlloc(&more, 0) == CUDA_SUCCESS) return 3;
    return 0;
}
