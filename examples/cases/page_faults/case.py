"""Pages of managed memory move one by one while the kernel that touches them runs; `fixed` has them where
they are needed."""
from profiled import HALF_GEMM, Profile

DISPATCH_NS, RUNS_NS, PAGES, MOVES_NS, PAGE_BYTES = 5_000, 2_000_000, 40, 8_000, 65_536


def profile(steps, fixed):
    made = Profile()

    def step(it):
        it.operator("aten::mm", DISPATCH_NS, HALF_GEMM, RUNS_NS)
        if not fixed:
            it.pages(PAGES, MOVES_NS, PAGE_BYTES, RUNS_NS)

    for number in range(steps):
        made.step(number, step)
    return made
