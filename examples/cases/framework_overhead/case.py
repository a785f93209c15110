"""Each operator is dispatched for longer than its kernel runs; `fixed` is compiled into a tenth of the
operators, which are dispatched quickly and whose kernels run ten times as long."""
from profiled import HALF_GEMM, Profile

OPERATORS, FUSED = 40, 10
DISPATCH_NS, RUNS_NS = 60_000, 30_000


def profile(steps, fixed):
    made = Profile()
    parts = FUSED if fixed else 1

    def step(it):
        for layer in range(OPERATORS // parts):
            it.operator("aten::mm", DISPATCH_NS // parts, f"{HALF_GEMM}_{layer}", RUNS_NS * parts)

    for number in range(steps):
        made.step(number, step)
    return made
