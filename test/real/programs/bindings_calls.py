"""What NVIDIA's Python package for CUDA says where no GPU is."""
from cuda.bindings import driver, runtime

print(driver.cuDriverGetVersion())
print(driver.cuDeviceGetCount())
print(driver.cuInit(0))
print(driver.cuDeviceGetCount())
print(driver.cuCtxGetCurrent())
print(driver.cuMemAlloc(16))
for name in (b"cuLaunchKernel", b"cuStreamBeginCapture", b"cuNoSuchFunction"):
    for version in (4000, 12000, 99000):
        status, address, outcome = driver.cuGetProcAddress(name, version, 0)
        print(name, version, status, bool(address), outcome)
for error in driver.CUresult:
    print(driver.cuGetErrorName(error), driver.cuGetErrorString(error))
print(runtime.cudaRuntimeGetVersion())
print(runtime.cudaDriverGetVersion())
print(runtime.cudaGetDeviceCount())
print(runtime.cudaMalloc(16))
print(runtime.cudaDeviceSynchronize())
for error in runtime.cudaError_t:
    print(runtime.cudaGetErrorName(error), runtime.cudaGetErrorString(error))
