"""Random numbers of each step are drawn on the processor while the GPU waits; `fixed` draws them on the
GPU."""
from profiled import HALF_GEMM, Profile

ON_GPU = "distribution_elementwise_grid_stride_kernel"
DRAWS_NS, DISPATCH_NS, RUNS_NS = 3_000_000, 5_000, 2_000_000


def profile(steps, fixed):
    made = Profile()

    def step(it):
        if fixed:
            it.operator("aten::randn", DISPATCH_NS, ON_GPU, RUNS_NS // 100)
        else:
            it.computes("aten::randn", DRAWS_NS)
        it.python(2 * DISPATCH_NS)
        for layer in range(4):
            it.operator("aten::mm", DISPATCH_NS, f"{HALF_GEMM}_{layer}", RUNS_NS)

    for number in range(steps):
        made.step(number, step)
    return made
