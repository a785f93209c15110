"""CuPy: elementwise work, a RawKernel, a matrix product, copies, streams."""
from frameworks import check_work

ORDER, LIMIT_S, TOGETHER = 22, 120, True


def check(machine):
    yield from check_work(machine, "cupy_arrays", "CuPy")
