"""JAX: a jitted step with a matrix product, and its gradient; XLA may launch it as a graph."""
import os

from missing import Missing, imported

TIMES = 10


def prepared(device):
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    os.environ.setdefault("JAX_PLATFORMS", "cuda" if device == "cuda" else "cpu")
    os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_gpu_deterministic_ops=true"
    jax, numpy = imported("jax"), imported("numpy")
    try:
        jax.devices()
    except Exception as why:  # as its version has it where there is no plug-in, or not for this driver
        raise Missing(f"JAX has no {device}: {' '.join(str(why).split())[:160]}") from why
    start = numpy.random.RandomState(0).rand(128, 128).astype(numpy.float32)
    data = numpy.random.RandomState(1).rand(64, 128).astype(numpy.float32)

    @jax.jit
    def step(weight, data):
        gradient = jax.grad(lambda weight: jax.numpy.tanh(data @ weight).sum())(weight)
        return weight - 0.01 * gradient

    def work():
        weight = jax.device_put(start)
        for _ in range(TIMES):
            weight = step(weight, data)
        down = numpy.asarray(weight.block_until_ready())
        return [float(down.astype(numpy.float64).sum()).hex()], {}

    return work
