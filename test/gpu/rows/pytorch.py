"""PyTorch: cuBLAS, cuBLASLt and cuDNN through it."""
from frameworks import check_work

ORDER, LIMIT_S, TOGETHER = 16, 200, True


def check(machine):
    yield from check_work(machine, "matrices", "cuBLAS, cuBLASLt by PyTorch")
    yield from check_work(machine, "convolutions", "cuDNN by PyTorch")
