"""A player learns: 32 times the GPU chooses actions, the host reads them and waits 1.5 ms for simulators,
which are processes of their own; then four updates with what came of it. In `fixed` the GPU simulates."""
from gpu import MS, block

TURNS, UPDATES, LAYERS = 32, 4, 3


def play(gpu, simulates):
    for layer in range(LAYERS):
        gpu.launch(f"ampere_fp16_s16816gemm_policy_{layer}__200us")
    if simulates:
        gpu.launch("simulate_environments__300us")
    else:
        gpu.copy_out(4096)
        gpu.wait()
        block(1.5 * MS)
        gpu.copy_in(20_000)


def step(job):
    for _ in range(TURNS):
        play(job.gpu, job.fixed)
    for _ in range(UPDATES):
        for layer in range(LAYERS):
            job.gpu.launch(f"ampere_fp16_s16816gemm_nn_{layer}__400us")
        for layer in range(LAYERS):
            job.gpu.launch(f"ampere_fp16_s16816gemm_wgrad_{layer}__800us")
        job.gpu.update()
    job.gpu.wait()
