"""Each step of a solver exchanges the edges of its grid while the GPU waits; `fixed` exchanges them while the
GPU computes the inner part."""
from exported import Exported

EXCHANGE_NS, INNER_NS, EDGES_NS, BETWEEN_NS = 1_500_000, 4_000_000, 300_000, 10_000


def profile(steps, fixed):
    made = Exported()

    def step(it):
        if fixed:
            it.launch("inner_stencil", INNER_NS)
        it.message("MPI_Sendrecv", EXCHANGE_NS)
        it.python(BETWEEN_NS)
        it.launch("edge_stencil", EDGES_NS)
        if not fixed:
            it.launch("inner_stencil", INNER_NS)

    for number in range(steps):
        made.step(number, step)
    return made
