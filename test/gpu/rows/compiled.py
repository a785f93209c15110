"""torch.compile(mode="reduce-overhead"): kernels of Triton in graphs that PyTorch makes."""
from frameworks import check_work

ORDER, LIMIT_S, TOGETHER = 29, 180, True  # compiling takes the most of it


def check(machine):
    yield from check_work(machine, "compiled", "torch.compile, reduce-overhead")
