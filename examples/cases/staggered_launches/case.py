"""One thread launches for three GPUs, GPU 1 after GPU 2: it has nothing to do until all of GPU 2's work is
launched. `fixed` launches longer kernels, for each GPU in turn."""
LAYERS, TOGETHER = 80, 8  # 5 us each, and 4 us to launch


def launch(gpu, layers, length_us):
    gpu.use()
    for layer in layers:
        gpu.launch(f"ampere_fp16_s16816gemm_fp16_{layer % 10}__{length_us}us")


def step(job):
    if not job.fixed:
        for number in (0, 2, 1):
            launch(job.gpus[number], range(LAYERS), 5)
    for layer in range(LAYERS // TOGETHER if job.fixed else 0):
        for gpu in job.gpus:
            launch(gpu, [layer], 5 * TOGETHER)
