"""JAX's jit, which may launch what it compiled as a graph."""
from frameworks import check_work

ORDER, LIMIT_S, TOGETHER = 24, 150, True


def check(machine):
    yield from check_work(machine, "jax_jit", "JAX")
