"""One thread launches for three GPUs, GPU 1 after GPU 2: it has nothing to do until all of GPU 2's work is
launched."""
LAYERS = 80  # 5 us each, and 4 us to launch


def step(job):
    for number in (0, 2, 1):
        gpu = job.gpus[number]
        gpu.use()
        for layer in range(LAYERS):
            gpu.launch(f"ampere_fp16_s16816gemm_fp16_{layer % 10}__5us")
