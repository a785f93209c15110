"""The model multiplies 16-bit numbers on ordinary cores, for its shapes do not fit tensor cores; padded, the
same products take a third of the time."""
HALF_GEMM = "volta_hgemm_128x64_nn"


def step(job):
    gpu = job.gpu
    gpu.copy_in()
    if job.fixed:
        gpu.layers(10, 100)
    else:
        for layer in range(10):
            gpu.launch(f"{HALF_GEMM}_{layer}__300us")
    gpu.update()
    gpu.wait()
