"""Four ranks have an expert each, and tokens go to them and back by all-to-alls of messages. Most tokens are
for the expert of rank 2: three chunks, where the others have one. `fixed` spreads them evenly."""
from communicator import all_to_all

RANKS, LAYERS, TOKENS, HOT = 4, 4, 200_000, 2


def step(job):
    gpu = job.gpu
    gpu.copy_in()
    for layer in range(LAYERS):
        gpu.launch(f"flash_fwd_kernel_{layer}__150us")
        all_to_all(gpu, job.comm, job.ranks, TOKENS)
        chunks = 1.5 if job.fixed else 3 if job.rank == HOT else 1
        for _ in range(int(2 * chunks)):
            gpu.launch(f"ampere_fp16_s16816gemm_expert_{layer}__100us")
        all_to_all(gpu, job.comm, job.ranks, TOKENS)
    gpu.update()
    gpu.wait()
