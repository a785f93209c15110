"""What a program on the driver API sees without a GPU: versions, refusals, texts of errors, missing names."""
import ctypes

import asked

MOST_ERRORS = 1000

driver = asked.Library("libcuda.so.1")
driver.number("cuDriverGetVersion")
driver.number("cuDeviceGetCount")
driver.ask("cuInit", 1)
driver.ask("cuInit", 0)
driver.ask("cuInit", 0)
driver.number("cuDeviceGetCount")
driver.number("cuDeviceGet", 0)
driver.number("cuCtxGetCurrent", of=ctypes.c_size_t)
driver.number("cuStreamCreate", of=ctypes.c_size_t)
driver.ask("cuMemAlloc_v2", ctypes.byref(ctypes.c_size_t()), ctypes.c_size_t(16))
driver.ask("cuLaunchKernel", None, 1, 1, 1, 1, 1, 1, 0, None, None, None)
driver.ask("cuStreamSynchronize", None)
driver.ask("cuCtxSynchronize")
for error in range(MOST_ERRORS):
    for name in ("cuGetErrorName", "cuGetErrorString"):
        said = ctypes.c_char_p(b"(untouched)")
        status = getattr(driver.functions, name)(error, ctypes.byref(said))
        if status == 0:
            print(name, error, said.value)
for missing in ("cuNoSuchFunction", "cudaMalloc", ""):
    try:
        ctypes.CDLL("libcuda.so.1")[missing]
    except AttributeError as error:
        print(error)
