"""cuBLAS and cuBLASLt in a program of nvcc: by itself, and as a library next to PyTorch's profiler."""
import nvcc
from frameworks import check_work
from judging import same
from machine import Row, Skip, demand, one

ORDER, LIMIT_S, TOGETHER = 21, 150, True
SIZE, TIMES = 128, 12  # as in libraries.cu
LIBRARIES = ("-cudart", "shared", "-lcublas", "-lcublasLt")


def check(machine):
    with nvcc.compiled(machine, "libraries.cu", *LIBRARIES) as program:
        if machine.simulated:
            raise Skip("compiled, not run: NVIDIA's libraries refuse a simulated driver")
        done, traces = machine.same_with_and_without([program], **nvcc.libraries())
    trace = one(traces)
    launches = sum(trace.kernels.values())
    demand(launches >= 24, "24 products, and these launches:", trace.kernels)
    asked = (TIMES, SIZE, SIZE, SIZE, TIMES * 2 * SIZE ** 3)
    same(trace.products, [("cublasLtMatmul", *asked), ("cublasSgemm_v2", *asked)], "products")
    yield Row("cuBLAS and cuBLASLt by nvcc", f"{launches} launches; {done.stdout.strip()} as without")
    with nvcc.compiled(machine, "libraries.cu", *LIBRARIES, "-shared", "-Xcompiler", "-fPIC") as library:
        yield from check_work(machine, "library", "the same next to CUPTI", GPU_CHECK_WORK=library)
