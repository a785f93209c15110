"""A loop over tensors in Python takes longer between two operators than the kernel of one; `fixed` calls
one operator for a list of them."""
from profiled import HALF_GEMM, Profile

OPERATORS, TOGETHER = 40, 10
PYTHON_NS, DISPATCH_NS, RUNS_NS = 60_000, 4_000, 30_000


def profile(steps, fixed):
    made = Profile()
    parts = TOGETHER if fixed else 1

    def step(it):
        for layer in range(OPERATORS // parts):
            it.operator("aten::mm", DISPATCH_NS, f"{HALF_GEMM}_{layer}", RUNS_NS * parts)
            it.python(PYTHON_NS)

    for number in range(steps):
        made.step(number, step)
    return made
