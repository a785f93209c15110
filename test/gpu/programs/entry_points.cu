// Whose functions the runtime hands out as the driver's: prints name=library of each that it has.
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <cstdio>
#include <string>

static std::string owner(void* address) {
    Dl_info info{};
    if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return "nobody";
    const std::string path = info.dli_fname, file = path.substr(path.rfind('/') + 1);
    return file.substr(0, file.find('.'));
}

int main() {
    cudaFree(nullptr);
    for (const char* name : {"cuLaunchKernel", "cuMemcpyHtoDAsync", "cuMemcpyDtoH", "cuStreamSynchronize",
                             "cuGraphLaunch", "cuMemsetD8Async", "cuEventRecord"}) {
        void* address = nullptr;
        cudaDriverEntryPointQueryResult outcome{};
#if CUDART_VERSION >= 12050
        const cudaError_t error =
            cudaGetDriverEntryPointByVersion(name, &address, 12000, cudaEnableDefault, &outcome);
#else
        const cudaError_t error = cudaGetDriverEntryPoint(name, &address, cudaEnableDefault, &outcome);
#endif
        if (error == cudaSuccess && address != nullptr) std::printf("%s=%s\n", name, owner(address).c_str());
    }
    return 0;
}
