"""One thread launches for three GPUs, GPU 1 after GPU 2: it has nothing to do until all of GPU 2's work is launched."""
LAYERS = 80


def step(job):
    order = [job.gpus[number] for number in (0, 2, 1)]
    if job.fixed:  # a thread or process for each: their launches lie between each other
        for layer in range(LAYERS):
            for gpu in order:
                gpu.use()
                gpu.launch(f"ampere_fp16_s16816gemm_fp16_{layer % 10}__12us")
    else:
        for gpu in order:
            gpu.use()
            for layer in range(LAYERS):
                gpu.launch(f"ampere_fp16_s16816gemm_fp16_{layer % 10}__12us")
    for gpu in order:
        gpu.use()
        gpu.wait()
