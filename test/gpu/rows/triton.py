"""A Triton kernel, launched by Triton's own launcher."""
from frameworks import check_work

ORDER, LIMIT_S, TOGETHER = 23, 120, True


def check(machine):
    yield from check_work(machine, "triton_kernel", "Triton")
